% SPDX-License-Identifier: Apache-2.0
% The class Riffa over tests/cores/transactions: each of its calls, with what it returns.
1;

function fails(act, part)
    try
        act();
    catch why
        assert(~isempty(strfind(why.message, part)), '%s', why.message);
        return
    end
    error('no error: %s', func2str(act));
end

found = Riffa.list();
assert(found.num_fpgas, 1);
assert(found.num_chnls, 3);
assert(strncmp(found.names{1}, 'sim:tests/cores', 15));
fails(@() Riffa(1), 'cannot be opened');
fails(@() Riffa(), 'missing');
card = Riffa(found.id(1));
assert(card.closed, 0);
data = -int32(0:199);
assert(card.send(0, data, 200, 7, 0, 0), 200);
assert(card.send(0, data, 1000, 0, 1, 0), 200); % as many as it has
[n, got] = card.recv(0, 300, 0);
assert(n, 200);
assert(isequal(got, [zeros(1, 7, 'int32'), data(1:193)]));
assert(card.send(1, uint8(1:8), 2, 0, 1, 0), 2);
[n, got] = card.recv(1, 1, 0); % more than there is memory for
assert(n, 1);
assert(isequal(got, typecast(uint8(1:4), 'int32')));
assert(card.send(0, [], 0, 0, 1, 0), 0);
[n, got] = card.recv(0, 5, 0);
assert(n == 0 && isempty(got) && isa(got, 'int32'));
assert(card.recv(0, 5, 1), 0); % the limit
assert(card.send(3, data, 1, 0, 1, 0), 0); % no such channel
fails(@() card.send(0, data, -1, 0, 1, 0), 'negative');
fails(@() card.send(0, data, 1), 'words_sent');
fails(@() card.recv(0, 1), 'words_recvd');
card.reset();
card.close();
assert(card.closed, 1);
fails(@() card.close(), 'closed');
fails(@() card.recv(0, 1, 0), 'closed');
printf('done\n');
clear card

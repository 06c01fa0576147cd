% SPDX-License-Identifier: Apache-2.0
% What towpath.Card promises, over simulated cards. The argument is a seed. It prints each rule that holds.
1;

function why = fails(status, act)
    try
        act();
    catch why
        assert(why.identifier, ['towpath:' status]);
        assert(~isempty(why.message));
        return
    end
    error('no %s: %s', status, func2str(act));
end

function data = random_data()
    classes = {'uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32', 'uint64', 'int64', 'single', 'double'};
    class = classes{randi(10)};
    bytes = 8 * randi([0, 60]);
    if rand() < 0.2
        bytes = 8 * randi([0, 1000]);
    end
    data = typecast(uint8(randi([0, 255], 1, bytes)), class);
    if any(strcmp(class, {'single', 'double'}))
        data(isnan(data)) = 0; % a NaN's bits need not come through
    end
    data = reshape(data, [], 1);
    if mod(numel(data), 2) == 0 && rand() < 0.5
        data = reshape(data, 2, []); % any shape: its numbers go in their order
    end
end

seed = str2double(argv(){end});
rand('twister', seed);

% Cards.
found = towpath.list();
assert(any(strcmp({found.name}, 'sim:loopback')));
card = towpath.Card('sim:loopback');
about = card.info();
assert(about.core, 'loopback');
assert(about.channels, {'in', 'out'});
assert(about.interrupts, 1);
why = fails('UNKNOWN_SCHEME', @() towpath.Card('teapot:1'));
assert(~isempty(strfind(why.message, 'teapot:1')));
fails('NO_SUCH_DEVICE', @() towpath.Card('sim:no_such_core'));
printf('cards\n');

% Numbers of each class, whole and in pieces, come back as they were.
for round = 1:120
    data = random_data();
    bytes = numel(typecast(data(:), 'uint8'));
    moved = card.send('in', data, 'user', round, 'offset', 3 * round, 'length', bytes);
    assert(moved, bytes);
    assert(card.moved, bytes);
    if rand() < 0.5
        [got, about] = card.recv_message('out', class(data));
    else
        got = zeros(0, 1, class(data));
        do
            [piece, about] = card.recv('out', randi(max(1, 2 * numel(data))), class(data));
            assert(numel(typecast(piece, 'uint8')), about.bytes);
            got = [got; piece];
        until about.end_of_message
    end
    assert(isa(got, class(data)) && isequal(got, data(:)), 'round %d', round);
    assert([about.user, about.offset], [round, 3 * round]);
end
card.send('in', uint8(1:3), 'more', true);
card.send('in', uint8(4:5));
assert(card.recv_message('out'), uint8(1:5)');
card.send('in', uint8(1:5));
[got, about] = card.recv('out', 9, 'uint32'); % a last number of which not all bytes came
assert(got, [typecast(uint8(1:4), 'uint32'); 5]);
assert(about.bytes, 5);
% A message for which there is no memory is still there when there is, and so is one for which another function returns too little.
card.send('in', uint16(1:300), 'user', 7);
warning('off', 'Octave:shadowed-function', 'local');
for body = {"error('Octave:bad-alloc', 'out of memory')", 'data = uint8(1)', 'data = 0', 'data = uint16(1:300)', 'data = {}'}
    full = tempname();
    mkdir(full);
    file = fopen(fullfile(full, 'zeros.m'), 'w');
    fprintf(file, "function data = zeros(varargin)\n %s;\nend\n", body{1});
    fclose(file);
    addpath(full);
    fails('MEMORY', @() card.recv_message('out', 'uint16'));
    rmpath(full);
    delete(fullfile(full, 'zeros.m'));
    rmdir(full);
end
[got, about] = card.recv_message('out', 'uint16');
assert(isequal(got, uint16(1:300)') && about.user == 7);
printf('classes\n');

% Limits, and the statuses as identifiers.
fails('TIMEOUT', @() card.recv('out', 1, 'uint8', 0.001));
card.send('in', uint8(mod(0:999, 256)), 'more', true);
[got, about] = card.recv('out', 5000, 'uint8', 0.001);
assert(about.status, 'TIMEOUT');
assert(numel(got) > 800 && numel(got) == card.moved && isequal(got, uint8(mod(0:numel(got) - 1, 256))'));
card.send('in', uint8([]));
rest = card.recv_message('out');
assert(isequal([got; rest], uint8(mod(0:999, 256))'));
fails('TIMEOUT', @() card.send('in', zeros(1, 1e5), 'timeout', 0.001));
assert(card.moved > 0 && card.moved < 8e5);
card.reset_channel('in');
card.set_timeout('out', 'recv', 0.001);
card.reset_channel('out');
fails('TIMEOUT', @() card.recv_message('out'));
fails('NO_SUCH_CHANNEL', @() card.send('nowhere', 1));
fails('WRONG_DIRECTION', @() card.recv('in', 1));
fails('INVALID', @() card.send('in', 'text'));
fails('INVALID', @() card.send('in', 1i));
fails('INVALID', @() card.send('in', sparse(1)));
fails('INVALID', @() card.send('in', {1}));
fails('INVALID', @() card.send('in', 1, 'teapot', 1));
fails('INVALID', @() card.send('in', 1, 'user', 2 ^ 32));
fails('INVALID', @() card.recv('out', -1));
fails('INVALID', @() card.recv('out', 1, 'char'));
fails('INVALID', @() card.recv('out', 1, 'uint8', -1));
fails('INVALID', @() towpath_mex('no such call'));
fails('INVALID', @() towpath_mex('close', 7));
printf('statuses\n');

% Registers and interrupts.
card.write_register('scratch', 4275878552);
assert(card.read_register(4), 4275878552);
card.write_register(4, 7);
assert(card.read_register('scratch'), 7);
fails('INVALID', @() card.read_register('no such'));
fails('REGISTER', @() card.read_register(3));
while true % those of the messages so far
    try
        card.wait_interrupt(0, 0);
    catch
        break
    end
end
before = card.now();
card.send('in', 1);
assert(card.wait_interrupt(0, 1), 1);
assert(card.now() > before);
fails('INTERRUPT_TIMEOUT', @() card.wait_interrupt(0, 0.001));
printf('registers\n');

% Closed, and cleared.
card.close();
card.close();
fails('INVALID', @() card.send('in', 1));
fails('INVALID', @() card.info());
clear card
threads = numel(glob('/proc/self/task/*'));
card = towpath.Card('sim:loopback');
card.send('in', 1);
assert(numel(glob('/proc/self/task/*')) > threads);
clear card
assert(numel(glob('/proc/self/task/*')), threads);
printf('clearing\n');

% Memories.
card = towpath.Card('sim:scratchpad');
assert(card.memory_bytes('ram'), 2 ^ 20);
model = zeros(8192, 1, 'uint8');
card.write_memory('ram', 0, model);
for round = 1:60
    data = random_data();
    bytes = typecast(data(:), 'uint8');
    at = randi([0, 8192 - numel(bytes)]);
    if rand() < 0.5
        card.write_memory('ram', at, data);
        model(at + 1:at + numel(bytes)) = bytes;
    else
        got = card.read_memory('ram', at, numel(bytes) / 8, 'uint64', Inf);
        assert(numel(got), numel(bytes) / 8);
        assert(nnz(typecast(got, 'uint8')(:) ~= model(at + 1:at + numel(bytes))(:)) == 0, 'memory, round %d', round);
    end
end
assert(isequal(card.read_memory('ram', 0, 8192), model));
fails('INVALID', @() card.read_memory('ram', 2 ^ 20 - 1, 2));
card.write_register('slverr_page', 3);
fails('KIND', @() card.read_memory('ram', 3 * 4096, 4096));
fails('KIND', @() card.write_memory('ram', 3 * 4096 - 8, zeros(1, 2)));
clear card
printf('memories\n');

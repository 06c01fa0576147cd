% SPDX-License-Identifier: Apache-2.0
classdef Riffa < handle
    % RIFFA's calls for MATLAB and Octave, over libriffa: the names, arguments and results of RIFFA's own class. riffa.h says what each
    % call promises. Lengths and offsets are in words of 32 bits, timeouts in milliseconds without progress; 0 is none.

    properties (Hidden)
        fpga_t = uint64(0);
    end

    properties (SetAccess = private)
        id
        closed = -1; % 0: open; 1: closed; -1: it was never open
    end

    methods
        function self = Riffa(id_num)
            if nargin ~= 1
                error('Riffa(id_num): the id of a card is missing');
            end
            self.fpga_t = riffa_mex('open', id_num);
            if self.fpga_t == 0
                error('Riffa: card %d cannot be opened', id_num);
            end
            self.id = id_num;
            self.closed = 0;
        end

        function close(self)
            % Closes the card.
            self.check(true, '');
            riffa_mex('close', self.fpga_t);
            self.closed = 1;
        end

        function sent = send(self, chnl, data, length, offset, last, timeout)
            % Sends so many words of data as one transaction; returns how many the card took, or a negative number.
            self.check(nargin == 7, 'words_sent = send(chnl, data, length, offset, last, timeout)');
            self.check(length >= 0 && offset >= 0 && timeout >= 0, 'length, offset and timeout are not negative');
            sent = riffa_mex('send', self.fpga_t, chnl, data, length, offset, last, timeout);
        end

        function [recvd, data] = recv(self, chnl, length, timeout)
            % Receives until a transaction with last has ended. Returns the words of that one, at most length, and as many of the memory's
            % words as a row of int32; or a negative number.
            self.check(nargin == 4, '[words_recvd, data] = recv(chnl, length, timeout)');
            self.check(length >= 0 && timeout >= 0, 'length and timeout are not negative');
            [recvd, data] = riffa_mex('recv', self.fpga_t, chnl, length, timeout);
            recvd = min(recvd, length);
            data = data(1:recvd);
        end

        function reset(self)
            % Resets the card.
            self.check(true, '');
            riffa_mex('reset', self.fpga_t);
        end

        function delete(self)
            % What nobody has closed. No error may leave this.
            try
                if self.closed == 0
                    close(self);
                end
            catch
            end
        end
    end

    methods (Hidden)
        function check(self, so, usage)
            if self.closed ~= 0
                error('Riffa: this card is closed');
            end
            if ~so
                error('Riffa: %s', usage);
            end
        end
    end

    methods (Static)
        function found = list()
            % The cards: num_fpgas, and for each of them id, num_chnls, vendor_id, device_id and names.
            found = riffa_mex('list');
            for n = 1:found.num_fpgas
                found.names{n} = char(found.name((n - 1) * 16 + 1:n * 16));
            end
            for field = {'id', 'num_chnls', 'vendor_id', 'device_id'}
                found.(field{1}) = found.(field{1})(1:found.num_fpgas);
            end
        end
    end
end

% SPDX-License-Identifier: Apache-2.0
classdef Card < handle
    % An open card: a board, or the gateware in simulation.
    %
    %   card = towpath.Card('sim:loopback');     % or towpath.Card(): the one that TOWPATH_DEVICE names, or the first
    %   card.send('in', single([1 2 3]));
    %   numbers = card.recv_message('out', 'single');
    %
    % Channels and memories are opened at their first use, and closed with the card: by close(card), or when the last variable with it is
    % cleared. Limits are in seconds without progress: [] is the channel's timeout, Inf is none. In simulation they are simulated time.
    %
    % Errors have identifiers: 'towpath:TIMEOUT', 'towpath:NO_SUCH_CHANNEL' and so on, by the statuses of towpath.h.

    properties (SetAccess = private)
        moved = 0; % bytes that the last transfer moved, also if it failed: the next one goes on there
    end

    properties (Access = private)
        device = uint64(0);
        channels
        memories
    end

    methods
        function self = Card(name)
            if nargin < 1
                name = '';
            end
            self.channels = struct('name', {}, 'direction', {}, 'handle', {});
            self.memories = struct('name', {}, 'handle', {}, 'bytes', {});
            self.device = towpath.call('open', name);
        end

        function delete(self)
            % No error may leave this.
            try
                close(self);
            catch
            end
        end

        function close(self)
            % Closes the card, and what was opened from it. A second time it does nothing.
            device = self.device;
            opened = {self.channels.handle};
            memories = {self.memories.handle};
            self.device = uint64(0);
            self.channels = self.channels([]);
            self.memories = self.memories([]);
            for n = 1:numel(opened)
                towpath.call('close_channel', opened{n});
            end
            for n = 1:numel(memories)
                towpath.call('close_memory', memories{n});
            end
            towpath.call('close', device);
        end

        function all = info(self)
            % What the card reports about itself.
            all = towpath.call('info', self.device);
        end

        function reset(self)
            % Resets all channels and the user core.
            towpath.call('reset', self.device);
        end

        function reset_channel(self, channel)
            % Empties a channel on both sides.
            at = find(strcmp({self.channels.name}, channel));
            if isempty(at)
                error('towpath:INVALID', 'channel "%s": nothing was sent or received on it', channel);
            end
            for n = at
                towpath.call('reset_channel', self.channels(n).handle);
            end
        end

        function seconds = now(self)
            % Time since an unspecified moment, by which limits count.
            seconds = towpath.call('now', self.device);
        end

        function moved = send(self, channel, data, varargin)
            % Sends numbers of any class as one message, in the order of data(:), and waits until the card has them. Returns their bytes.
            %
            %   card.send('in', data, 'timeout', 2, 'user', 7, 'offset', 0, 'length', 100, 'more', true)
            %
            % more: the message goes on with the next call. length: bytes of the whole message, told to the core beforehand.
            set = struct('timeout', [], 'user', 0, 'offset', 0, 'length', [], 'more', false);
            for n = 1:2:numel(varargin)
                if n == numel(varargin) || ~isfield(set, varargin{n})
                    error('towpath:INVALID', 'pairs of a name and a value: %s', strjoin(fieldnames(set)', ', '));
                end
                set.(varargin{n}) = varargin{n + 1};
            end
            opened = self.channel(channel, 0);
            [status, text, moved] = towpath_mex('send', opened, data, set.more, set.length, set.offset, set.user, set.timeout);
            self.moved = moved;
            towpath.check(status, text);
        end

        function [data, about] = recv(self, channel, count, class, timeout)
            % Receives up to so many numbers of a class ('uint8' if none is given), all of one message, as a column.
            %
            % about has bytes, end_of_message, offset, user and status. A call that ends early returns what had come until then, and
            % about.status says why; it is an error only if nothing had come. A last number of which not all bytes came has zeros in their
            % place.
            if nargin < 4
                class = 'uint8';
            end
            if nargin < 5
                timeout = [];
            end
            opened = self.channel(channel, 1);
            [status, text, data, bytes, ended, offset, user] = towpath_mex('recv', opened, count, class, timeout);
            self.moved = bytes;
            if bytes == 0
                towpath.check(status, text);
            end
            about = struct('bytes', bytes, 'end_of_message', ended ~= 0, 'offset', offset, 'user', user, 'status', status);
        end

        function [data, about] = recv_message(self, channel, class, timeout)
            % Receives a whole message as a column of numbers of a class ('uint8' if none is given). What has come before an error is kept
            % for the next call. about has bytes, offset and user.
            if nargin < 3
                class = 'uint8';
            end
            if nargin < 4
                timeout = [];
            end
            opened = self.channel(channel, 1);
            [data, bytes, offset, user] = towpath.call('recv_message', opened, class, timeout);
            self.moved = bytes;
            about = struct('bytes', bytes, 'offset', offset, 'user', user);
        end

        function set_timeout(self, channel, direction, seconds)
            % How long calls on a channel wait that have no limit of their own: ten seconds at first. direction is 'send' or 'recv'.
            towpath.call('set_timeout', self.channel(channel, double(strcmp(direction, 'recv'))), seconds);
        end

        function value = read_register(self, register)
            % A register of the user core's, by its name or its byte offset.
            value = towpath.call('read_register', self.device, register);
        end

        function write_register(self, register, value)
            towpath.call('write_register', self.device, register, value);
        end

        function events = wait_interrupt(self, number, timeout)
            % Waits for events of a user interrupt that no earlier call has returned; returns how many.
            events = towpath.call('wait_interrupt', self.device, number, timeout);
        end

        function bytes = memory_bytes(self, memory)
            % A memory's size.
            bytes = self.memory(memory).bytes;
        end

        function data = read_memory(self, memory, address, count, class, timeout)
            % Reads so many numbers of a class ('uint8' if none is given) from a memory of the user core, as a column.
            if nargin < 5
                class = 'uint8';
            end
            if nargin < 6
                timeout = [];
            end
            [status, text, data, bytes] = towpath_mex('read_memory', self.memory(memory).handle, address, count, class, timeout);
            self.moved = bytes;
            towpath.check(status, text);
        end

        function write_memory(self, memory, address, data, timeout)
            % Writes numbers to a memory of the user core, and waits until it has answered.
            if nargin < 5
                timeout = [];
            end
            [status, text, bytes] = towpath_mex('write_memory', self.memory(memory).handle, address, data, timeout);
            self.moved = bytes;
            towpath.check(status, text);
        end
    end

    methods (Access = private)
        function opened = channel(self, name, direction)
            % A card may have a channel of each direction by one name.
            at = find(strcmp({self.channels.name}, name) & [self.channels.direction] == direction);
            if isempty(at)
                opened = towpath.call('open_channel', self.device, name, direction);
                self.channels(end + 1) = struct('name', name, 'direction', direction, 'handle', opened);
            else
                opened = self.channels(at).handle;
            end
        end

        function found = memory(self, name)
            at = find(strcmp({self.memories.name}, name));
            if isempty(at)
                [opened, bytes] = towpath.call('open_memory', self.device, name);
                self.memories(end + 1) = struct('name', name, 'handle', opened, 'bytes', bytes);
                at = numel(self.memories);
            end
            found = self.memories(at);
        end
    end
end

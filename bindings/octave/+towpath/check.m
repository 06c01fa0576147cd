% SPDX-License-Identifier: Apache-2.0
function check(status, text)
    % An error whose identifier is the status, unless that is empty.
    if ~isempty(status)
        error(['towpath:' status], '%s', text);
    end
end

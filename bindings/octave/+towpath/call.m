% SPDX-License-Identifier: Apache-2.0
function varargout = call(name, varargin)
    % A call of the C library, or an error.
    [status, text, varargout{1:max(nargout, 1)}] = towpath_mex(name, varargin{:});
    towpath.check(status, text);
end

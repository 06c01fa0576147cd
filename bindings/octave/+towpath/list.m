% SPDX-License-Identifier: Apache-2.0
function cards = list()
    % The cards that can be opened now: a struct array with name and description.
    rows = towpath.call('list');
    cards = cell2struct(rows, {'name', 'description'}, 1);
end

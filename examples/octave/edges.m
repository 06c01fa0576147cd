% SPDX-License-Identifier: Apache-2.0
% The demo in MATLAB and Octave: a picture goes through the core "sobel" and comes back as its edges, which are compared with the same
% filter here.
%
%     addpath /usr/local/share/towpath/octave
%     edges
%
% The card is what TOWPATH_DEVICE names, or else the simulation.
[x, y] = meshgrid(0:159, 0:99);
away = hypot(x - 80, y - 50);
picture = uint8(x);
picture(away > 25 & away < 40) = 230;

name = getenv('TOWPATH_DEVICE');
if isempty(name)
    name = 'sim:sobel';
end
card = towpath.Card(name);
card.write_register('width', 160);
% A row after another: the core wants the pixels in that order, and takes no more than it can give back.
edges = zeros(size(picture), 'uint8');
rows = size(picture, 1);
for row = 1:rows
    card.send('pixels', picture(row, :), 'more', row < rows);
    if row > 16
        edges(row - 16, :) = card.recv('edges', 160);
    end
end
for row = rows - 15:rows
    edges(row, :) = card.recv('edges', 160);
end
clear card

p = double(picture);
top = p(1:end - 2, :);
middle = p(2:end - 1, :);
bottom = p(3:end, :);
across = @(r) r(:, 3:end) - r(:, 1:end - 2);
along = @(r) r(:, 1:end - 2) + 2 * r(:, 2:end - 1) + r(:, 3:end);
expected = zeros(size(p));
expected(2:end - 1, 2:end - 1) = min(255, abs(across(top) + 2 * across(middle) + across(bottom)) + abs(along(bottom) - along(top)));
fprintf('%d x %d pixels, %d wrong\n', size(picture, 2), rows, nnz(double(edges) ~= expected));

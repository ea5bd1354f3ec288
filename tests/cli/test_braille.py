"""Lines as text."""

from trainyard.cli.braille import Frame, draw


def text(*lines, width=4, height=2):
    return ["".join(character for character, _ in row) for row in draw(lines, Frame.around(lines), width, height)]


def test_a_rising_line():
    assert text([(0, 0), (7, 7)]) == ["  ⡠⠊", "⡠⠊  "]


def test_a_flat_line_is_in_the_middle():
    assert text([(0, 5), (1, 5)], width=3) == ["   ", "⠉⠉⠉"]


def test_one_point_is_a_dot():
    assert "".join(text([(3, 3)])).strip() != ""


def test_later_lines_lie_on_earlier_ones():
    lines = [[(0, 0), (1, 0)], [(0, 0), (1, 1)]]
    rows = draw(lines, Frame.around(lines), 4, 2)
    assert rows[1][0][1] == 1
    assert rows[1][3][1] == 0
    assert rows[0][0] == (" ", -1)

/**
 * A list that moves while it is read: links may move at any time, and the pages of a list with them, so that one which is
 * not there any more is no end of it. Asks for nothing itself.
 */

/** Where a list is found that often and its later pages are not, they are nowhere. */
const movesMax = 3;

/**
 * The lines of a list, from its beginning as often as its beginning has to be found anew: once where nothing of it came,
 * since what led there may have been kept too long, and at most 3 times where what came first was there and what follows
 * is gone. Lines may come again then; a line that is gone all the same is given. Rejects as `list` does.
 */
export async function* followMoves<Line>(
  list: (fresh: boolean) => AsyncIterable<Line>,
  isGone: (line: Line) => boolean,
): AsyncGenerator<Line, void> {
  for (let moves = 0; ; moves += 1) {
    let begun = false;
    let again = false;
    for await (const line of list(moves > 0)) {
      again = isGone(line) && moves < (begun ? movesMax : 1);
      if (again) break;
      begun = true;
      yield line;
    }
    if (!again) return;
  }
}

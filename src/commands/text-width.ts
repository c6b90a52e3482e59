/**
 * How many columns a text takes on a terminal: wide characters (East Asian ones, pictures) two, marks that stand on the
 * character before them none, all others one. Pure; the text is one line without control characters.
 */

/** Unicode's East Asian Width W and F, by blocks: an unassigned one within them is wide too. */
const wide =
  /[\u1100-\u115f\u231a\u231b\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u;
const joined = /[\p{Mn}\p{Me}]/u;
/** Most texts are like this, and are as wide as they are long. */
const narrow = /^[ -~]*$/;

export function textWidth(text: string): number {
  if (narrow.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += widthOf(character);
  return width;
}

/** The longest beginning of `text` that takes at most `width` columns. */
export function beginningOf(text: string, width: number): string {
  let taken = 0;
  let length = 0;
  for (const character of text) {
    taken += widthOf(character);
    if (taken > width) break;
    length += character.length;
  }
  return text.slice(0, length);
}

/** Words of a script that sets no spaces between them, cut where a line of `width` columns ends; others stay whole. */
export function piecesOf(word: string, width: number): string[] {
  const pieces: string[] = [];
  let rest = word;
  while (wide.test(rest) && textWidth(rest) > width) {
    const piece = beginningOf(rest, width);
    if (piece === '') break;
    pieces.push(piece);
    rest = rest.slice(piece.length);
  }
  return [...pieces, rest];
}

function widthOf(character: string): number {
  if (joined.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/**
 * How the demonstration speaks: plain sentences, 78 columns, colour only where it is wanted. Nothing here knows what
 * happens.
 */
import { createColors } from 'picocolors';

export interface Teller {
  title(text: string): void;
  /** A numbered step: what happens now. */
  step(text: string): void;
  /** A sentence of explanation, wrapped. */
  say(text: string): void;
  /** Something in full, indented as it is. */
  show(text: string): void;
  /** A page, in a frame of its own. */
  page(text: string): void;
  /** Rows of a table: name, figure, remark. */
  table(rows: [name: string, figure: string, remark: string][]): void;
}

const columns = 78;

/** Writes at most 78 columns a line; colours only when `coloured`. */
export function makeTeller(write: (text: string) => void, coloured: boolean): Teller {
  const colour = createColors(coloured);
  let step = 0;
  return {
    title: (text) => write(`\n${colour.bold(text)}\n`),
    step(text) {
      step += 1;
      write(`\n${colour.cyan(colour.bold(`${step} · ${text}`))}\n`);
    },
    say: (text) => write(`${wrap(text, columns - 4).join('\n')}\n`),
    show: (text) => write(`${colour.dim(indent(text, '    │ '))}\n`),
    page(text) {
      const resolved = text.startsWith('RESOLVED');
      const lines = text.split('\n').flatMap((line) => wrap(line, columns - 8).map((part) => part.trim()));
      const rule = '─'.repeat(columns - 6);
      const framed = [`┌${rule}`, ...lines.map((line) => `│ ${line}`), `└${rule}`];
      const paint = resolved ? colour.green : colour.yellow;
      write(`${framed.map((line) => paint(`    ${line}`)).join('\n')}\n`);
    },
    table(rows) {
      const width = Math.max(...rows.map(([name]) => name.length));
      const figures = Math.max(...rows.map(([, figure]) => figure.length));
      for (const [name, figure, remark] of rows) {
        write(`    ${name.padEnd(width)}  ${colour.bold(figure.padStart(figures))}  ${colour.dim(remark)}\n`);
      }
    },
  };
}

function indent(text: string, by: string): string {
  return text
    .split('\n')
    .map((line) => `${by}${line}`)
    .join('\n');
}

/** Words into lines of at most `width`, each after four spaces; a word that is longer stands alone. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(`    ${line}`);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  if (line !== '') lines.push(`    ${line}`);
  return lines;
}

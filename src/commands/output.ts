/**
 * How commands print: JSON for machines, aligned tables for people, of at most 80 columns at a terminal, notes on standard error. Text
 * from outside loses its control characters and those that turn its direction, so that nothing printed moves a cursor or
 * what stands beside it. Nothing here decides.
 */
import { createColors } from 'picocolors';
import { beginningOf, piecesOf, textWidth } from './text-width';

export interface Output {
  /** For machines: nothing but JSON goes to standard output. */
  readonly json: boolean;
  /** One value, or one array. */
  value(value: unknown): void;
  /** One array, written as its items come. */
  array(): { add(value: unknown): void; end(): void };
  /** One object of a stream. */
  item(value: unknown): void;
  line(text: string): void;
  /** A text beside its head, broken between words so that it fits. */
  prose(head: string, text: string): void;
  /** What a person wants to know beside the answer; kept quiet for machines. */
  note(text: string): void;
  /** Always on standard error. */
  warn(text: string): void;
  table<Row>(rows: Row[], columns: Column<Row>[]): void;
  /** What to do next. */
  next(text: string): void;
  /** On a terminal, one line that is written over, laid out for so many columns; null takes it away. */
  progress(text: string | ((columns: number) => string) | null): void;
}

export interface Column<Row> {
  title: string;
  of(row: Row): string | number | null;
  /**
   * The column that gives way when the line would be too long for a terminal, at most one: cut, or, where it says what to
   * act on, the last column and written in full below its line. Elsewhere none does: a line is a row, to be searched.
   */
  gives?: true | 'below';
}

export interface Streams {
  out(text: string): void;
  error(text: string): void;
  /** True on a terminal. */
  colors: boolean;
  /** True where the terminal has no colours, or nobody wants them (NO_COLOR). */
  plain?: boolean;
  /** Of the terminal that standard error goes to; undefined where it is none. */
  columns?(): number | undefined;
}

export const widthMax = 80;
const gap = 2;

/** Lines have at most 80 columns; on standard error at a terminal only, since whoever keeps it finds what was said in one line. */
export function makeOutput(streams: Streams, json: boolean): Output {
  const colors = createColors(streams.colors && !json && streams.plain !== true);
  const print = (text: string) => streams.out(`${text}\n`);
  const broken = (text: string) =>
    streams.columns?.() === undefined ? visible(text) : besides(visible(text), 0);
  return {
    json,
    value: (value) => print(JSON.stringify(value, null, streams.colors ? 2 : 0)),
    array: () => {
      let before = '[\n';
      return {
        add: (value) => {
          streams.out(before + JSON.stringify(value));
          before = ',\n';
        },
        end: () => streams.out(before === ',\n' ? '\n]\n' : '[]\n'),
      };
    },
    item: (value) => print(JSON.stringify(value)),
    line: (text) => print(visible(text)),
    prose: (head, text) => {
      const [first = ''] = wordsOf(visible(text));
      const indent = textWidth(visible(head));
      const [beside = '', ...below] = linesBeside(visible(text), indent);
      // An address that does not fit beside its head stands alone, so that it can be copied.
      const goesBeside = indent + textWidth(piecesOf(first, widthMax - indent)[0]!) <= widthMax;
      if (head === '' || goesBeside) print(visible(head) + beside);
      else print(`${visible(head).trimEnd()}\n${indented(beside, indent)}`);
      for (const line of below) print(indented(line, indent));
    },
    note: (text) => {
      if (!json) streams.error(`${colors.dim(broken(text))}\n`);
    },
    warn: (text) => streams.error(`${broken(text)}\n`),
    table: (rows, columns) => {
      const [head = '', ...lines] = layOut(rows, columns, !streams.colors);
      print(colors.bold(head));
      for (const line of lines) print(line);
    },
    progress: (text) => {
      if (!streams.colors || json) return;
      // The last column stays free: a line that fills it may be broken, and is not written over then.
      const columns = (streams.columns?.() || widthMax) - 1;
      const line = typeof text === 'function' ? text(columns) : (text ?? '');
      streams.error(`\r\x1b[K${beginningOf(visible(line), columns)}`);
    },
    next: (text) => {
      if (!json) print(`\n${colors.cyan('→')} ${besides(visible(text), 2)}`);
    },
  };
}

/**
 * Lines of a table, the titles first, without trailing spaces. Numbers stand on the right of their column; a column of
 * which no row says anything is left out. At most 80 columns wide, where its columns can give; what makes the first too
 * wide for that stands in full above its line. `whole`: nothing gives, each row is one line, and what is wider than a
 * terminal moves only what is beside it.
 */
export function layOut<Row>(rows: Row[], all: Column<Row>[], whole = false): string[] {
  const values = rows.map((row) => all.map((column) => column.of(row)));
  const told = all.map((_column, place) => rows.length === 0 || values.some((line) => line[place] !== null));
  const columns = all.filter((_column, place) => told[place]);
  const shownValues = values.map((line) => line.filter((_value, place) => told[place]));
  const isNumber = columns.map(
    (_column, place) =>
      rows.length > 0 && shownValues.every((line) => line[place] === null || typeof line[place] === 'number'),
  );
  const cells = [
    columns.map(({ title }) => title),
    ...shownValues.map((line) => line.map((value) => visible(String(value ?? '–')))),
  ];
  const widths = columns.map((_column, place) => {
    const counted = cells.map((line) => textWidth(line[place] ?? ''));
    return counted.reduce((most, width) => (whole && width > widthMax ? most : Math.max(most, width)), 0);
  });
  const place = whole ? -1 : columns.findIndex(({ gives }) => gives !== undefined);
  if (place > 0) widths[0] = firstWidth(cells, widths, place);
  const excess = widths.reduce((sum, width) => sum + width + gap, -gap) - widthMax;
  if (place >= 0 && excess > 0) widths[place] = Math.max(givenMin, (widths[place] ?? 0) - excess);
  const isBelow = columns[place]?.gives === 'below';
  return cells.flatMap((told) => {
    const first = told[0] ?? '';
    const goesAbove = textWidth(first) > (widths[0] ?? 0) && place > 0;
    const line = goesAbove ? told.with(0, '') : told;
    const longest = line[place];
    const goesBelow = isBelow && longest !== undefined && textWidth(longest) > (widths[place] ?? 0);
    const shown = goesBelow ? line.with(place, '') : line;
    const laid = shown
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return fill(whole ? cell : cutTo(cell, width), width, isNumber[column] === true);
      })
      .join(' '.repeat(gap))
      .trimEnd();
    return [
      ...(goesAbove ? [first] : []),
      laid,
      ...(goesBelow ? `${' '.repeat(gap)}${besides(longest, gap)}`.split('\n') : []),
    ];
  });
}

const givenMin = 8;

/** Of the first column: as wide as it is, or as its widest cell that leaves room for the others, the one that gives way cut. */
function firstWidth(cells: string[][], widths: number[], place: number): number {
  const others = widths.map((width, column) => gap + (column === place ? Math.min(givenMin, width) : width));
  const room = widthMax - others.slice(1).reduce((sum, width) => sum + width, 0);
  const fitting = cells.map(([first = '']) => textWidth(first)).filter((width) => width <= room);
  return Math.max(0, ...fitting);
}

function cutTo(text: string, width: number): string {
  return textWidth(text) > width ? `${beginningOf(text, width - 1)}…` : text;
}

function fill(text: string, width: number, right: boolean): string {
  const room = ' '.repeat(Math.max(0, width - textWidth(text)));
  return right ? room + text : text + room;
}

/**
 * Broken at spaces, and between wide characters, into lines that begin at `indent` and fit; an address stays whole, and
 * a command that a line has room for, so that it can be copied. At most 80 columns wide.
 */
export function besides(text: string, indent: number): string {
  const [first = '', ...below] = linesBeside(text, indent);
  return [first, ...below.map((line) => indented(line, indent))].join('\n');
}

/** What has room only further to the left begins there; what has none anywhere stays. */
function indented(line: string, indent: number): string {
  const room = widthMax - textWidth(line);
  return ' '.repeat(room < gap ? indent : Math.min(indent, room)) + line;
}

function linesBeside(text: string, indent: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of wordsOf(text).flatMap((whole) => piecesOf(whole, widthMax - indent))) {
    if (line === '') line = word;
    else if (indent + textWidth(line) + 1 + textWidth(word) <= widthMax) line += ` ${word}`;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

/** A command is one word: between backticks, with what stands against it, and without them at the end of the text. */
function wordsOf(text: string): string[] {
  const joined = text.replace(/(?<![^ ])[^ ]*`tramline [^`]+`[^ ]*| tramline .{1,60}$/g, (command) => {
    const isWhole = textWidth(command) <= widthMax - gap;
    // A text that is shown has no control characters: this one stands for a space that is none between words.
    return isWhole ? command[0] + command.slice(1).replaceAll(' ', '\0') : command;
  });
  return joined.split(' ').map((word) => word.replaceAll('\0', ' '));
}

/** An ISO time without its fraction of a second. */
export function shortTime(time: string): string {
  return time.replace(/\.\d+Z$/, 'Z');
}

/** Line breaks, other control characters and those that only say how to write (direction, joining) as spaces. */
export function visible(text: string): string {
  return text.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
}

// What people read must fit a terminal and cannot move its cursor, whatever names a provider sends.
import { type Column, layOut, makeOutput, visible } from '../../../src/commands/output';
import { beginningOf, textWidth } from '../../../src/commands/text-width';
import fastCheck from '../../support/properties';

const columns = [
  { title: 'ID', of: (row: { id: string }) => row.id },
  { title: 'NAME', of: (row: { name?: string | null }) => row.name ?? null, gives: true },
  { title: 'COUNT', of: () => 3 },
];

test('columns line up, and the one that gives way is cut', () => {
  const lines = layOut(
    [{ id: '1', name: 'a' }, { id: '22', name: 'x'.repeat(200) }, { id: '3' }],
    columns as never,
  );
  expect(lines.map((line) => line.length).every((length) => length <= 80)).toBe(true);
  expect(lines[2]).toMatch(/^22 {2}x+… {6}3$/);
  expect(lines[3]).toMatch(/^3 {3}– +3$/);
});

test('numbers stand on the right, and a column that says nothing of any row is left out', () => {
  type Row = { id: string; bytes: number | null };
  const table: Column<Row>[] = [
    { title: 'ID', of: ({ id }) => id },
    { title: 'CERTIFIED', of: () => null },
    { title: 'BYTES', of: ({ bytes }) => bytes },
  ];
  const bytes = { a: 60_000_000, b: 7, c: null };
  const rows = Object.entries(bytes).map(([id, count]) => ({ id, bytes: count }));
  expect(layOut(rows, table)).toEqual(['ID     BYTES', 'a   60000000', 'b          7', 'c          –']);
  expect(layOut([], table)).toEqual(['ID  CERTIFIED  BYTES']);
});

test('no name makes a table wider than a terminal or leaves a control character in it', () => {
  fastCheck.assert(
    fastCheck.property(fastCheck.array(fastCheck.string({ unit: 'grapheme' })), (names) => {
      const lines = layOut(
        names.map((name) => ({ id: '1', name })),
        columns as never,
      );
      for (const line of lines)
        expect([textWidth(line) <= 80, /[\p{Cc}\p{Cf}]/u.test(line)]).toEqual([true, false]);
    }),
  );
  expect(visible('a\u001b[2Jb\r\nc')).toBe('a [2Jb c');
  expect(visible('Farm \u202egnirreB\u2069\u2028x\ud800')).toBe('Farm  gnirreB x\ufffd');
});

test('wide characters count as two columns, marks on another as none, and half of one is never printed', () => {
  const widths = [
    'Berring',
    '北海道農場',
    'ハーベスト',
    '한들농장',
    'ﾊﾝｶｸ',
    'Ａ１',
    '🐄',
    '𠮷野家',
    'Mu\u0308ller',
    'Høj',
  ];
  expect(widths.map(textWidth)).toEqual([7, 10, 10, 8, 4, 4, 2, 6, 6, 3]);
  expect(beginningOf('北海道', 5)).toBe('北海');
  expect(beginningOf('u\u0308b', 1)).toBe('u\u0308');
});

test('a table of names in wide characters is no wider than a terminal, and its columns stand below each other', () => {
  const rows = [
    { id: '4711', name: '北海道農場'.repeat(12) },
    { id: '4724', name: '北海道' },
    { id: '4737', name: 'Berring' },
  ];
  const lines = layOut(rows, columns as never);
  expect(lines.map((line) => textWidth(line))).toEqual([80, 80, 80, 80]);
  expect(lines[1]).toMatch(/^4711 {2}[北海道農場]{33}… {6}3$/u);
});

test('one endless id stands above its line, and costs the others none of their columns', () => {
  const id = '7'.repeat(120);
  const named = { id: '4711', name: 'x'.repeat(200) };
  const [title, first, ...lines] = layOut([named, { id, name: 'Berring' }], columns as never);
  expect(title).toMatch(/^ID {4}NAME +COUNT$/);
  expect(first).toMatch(/^4711 {2}x+… {6}3$/);
  expect(textWidth(first!)).toBe(80);
  expect(lines).toEqual([id, expect.stringMatching(/^ {6}Berring +3$/)]);
});

test('what is wider than a terminal moves nothing but its own row where no terminal shows it', () => {
  const rows = [
    { id: '1', name: 'x'.repeat(200) },
    { id: '22', name: 'Berring' },
  ];
  const lines = layOut(rows, columns as never, true);
  expect(lines).toEqual(['ID  NAME     COUNT', `1   ${'x'.repeat(200)}      3`, '22  Berring      3']);
});

test.each([true, 'below'] as const)(
  'a table that no terminal shows has each row whole in a line (%s)',
  (gives) => {
    const name = `${'Estate of '.repeat(12)}Berring`;
    const rows = [{ id: '7'.repeat(90), name }];
    const table: Column<{ id: string; name: string }>[] = [
      { title: 'ID', of: ({ id }) => id },
      { title: 'NAME', of: (row) => row.name, gives },
    ];
    const printed = (colors: boolean) => {
      let out = '';
      const streams = { out: (text: string) => (out += text), error: () => {}, colors, plain: true };
      makeOutput(streams, false).table(rows, table);
      return out.trimEnd().split('\n').slice(1);
    };
    expect(printed(false)).toEqual([`${rows[0]!.id}  ${name}`]);
    expect(printed(true).length).toBeGreaterThan(1);
  },
);

test('what is said beside the answer is broken for a terminal, and one line for whoever keeps it', () => {
  const said = (columns: number | undefined) => {
    let error = '';
    const streams = {
      out: () => {},
      error: (text: string) => {
        error += text;
      },
      colors: false,
      columns: () => columns,
    };
    const output = makeOutput(streams, false);
    output.note('word '.repeat(20).trim());
    output.warn('word '.repeat(20).trim());
    return error.split('\n').map((line) => line.length);
  };
  expect(said(undefined)).toEqual([99, 99, 0]);
  expect(said(120)).toEqual([79, 19, 79, 19, 0]);
});

test('a text without spaces is broken between its wide characters', () => {
  let out = '';
  const output = makeOutput({ out: (text) => (out += text), error: () => {}, colors: false }, false);
  output.prose('what   ', `"${'北海道農場'.repeat(20)}" waits`);
  output.prose('名  ', '北海道');
  const lines = out.trimEnd().split('\n');
  expect(lines.map((line) => textWidth(line) <= 80)).toEqual(lines.map(() => true));
  expect(lines.length).toBe(4);
  expect(
    lines
      .slice(0, 3)
      .map((line) => line.slice(7))
      .join(''),
  ).toBe(`"${'北海道農場'.repeat(20)}" waits`);
  expect(lines[3]).toBe('名  北海道');
});

test('colors and indents are for terminals, and JSON has neither colors nor notes', () => {
  const print = (colors: boolean, json: boolean, plain = false) => {
    let out = '';
    let error = '';
    const output = makeOutput(
      {
        out: (text) => {
          out += text;
        },
        error: (text) => {
          error += text;
        },
        colors,
        plain,
      },
      json,
    );
    output.table([{ id: '1' }], columns as never);
    output.note('note');
    output.next('next');
    output.value({ a: 1 });
    return [out, error];
  };
  expect(print(true, false).join('')).toContain('\u001b[');
  const [plainly = ''] = print(true, false, true);
  expect([plainly.includes('\u001b['), plainly.includes('"a": 1')]).toEqual([false, true]);
  expect(print(false, false).join('')).not.toContain('\u001b[');
  expect(print(false, true)).toEqual(['ID  COUNT\n1       3\n{"a":1}\n', '']);
});

test('a text beside its head is broken between words; an address and a command stay whole', () => {
  const address = `https://provider.example/${'a'.repeat(80)}`;
  let out = '';
  const output = makeOutput({ out: (text) => (out += text), error: () => {}, colors: false }, false);
  output.prose('store     failed   ', `${'word '.repeat(20)}at ${address} now`);
  output.next(`${'word '.repeat(14)}then: tramline organizations probe 4712`);
  const lines = out.split('\n');
  expect(lines.filter((line) => line.length > 80)).toEqual([' '.repeat(19) + address]);
  expect(lines[1]).toMatch(/^ {19}word/);
  expect(lines).toContain('  tramline organizations probe 4712');
});

test('a command within a sentence is never broken over two lines where a line has room for it', () => {
  const id = '09498c10-75b5-4b55-a4d4-6c2d3b4d5e6f';
  const command = `\`tramline subscriptions renew ${id}\`,`;
  const endless = `\`tramline organizations probe ${'9'.repeat(80)}\``;
  let out = '';
  const output = makeOutput({ out: (text) => (out += text), error: () => {}, colors: false }, false);
  output.prose('next   ', `Run ${command} and mend what \`explain\` names; ${endless} stays as it is then.`);
  output.prose(' '.repeat(30), `${command} then wait.`);
  output.next(`${'word '.repeat(12)}${command} and then wait until it was renewed.`);
  const lines = out.split('\n');
  expect(lines.filter((line) => line.includes(command)).length).toBe(3);
  expect(lines.filter((line) => textWidth(line) > 80)).toEqual([`       ${'9'.repeat(80)}\``]);
});

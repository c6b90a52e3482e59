// Goal: whoever is woken types what stands there, and it is understood: each command, path and metric that a runbook, a
// rule or the first step of an alert names exists, and the page of an alert has the command of its first step.
// Method: commands are parsed by the command line itself, which is asked for its help and runs nothing. Shown bad
// examples first.
import { parse } from 'yaml';
import { catalogue } from '../../src/alert/catalogue';
import { table } from '../../src/config/table';
import { apiRoutes } from '../../src/operations/routes';
import { refusalReasons } from '../../src/webhook/refusals';
import { parseMetricsList } from '../support/promql';
import { makeShell } from '../unit/commands/shell';
import { repositoryFiles } from './repository-files';

const files = repositoryFiles();
const runbooks = files.filter(({ path }) => path.startsWith('deploy/runbooks/'));
const textOf = (path: string): string => files.find((file) => file.path === path)?.text ?? '';
const shell = makeShell();

/** Commands of a source into which something is written as it came, and not as one word of a shell. */
function unquotedIn(text: string): string[] {
  return [
    ...text.matchAll(/\btramline [a-z-]+(?: (?:--)?[a-z-]+)* \$\{(?![^}]*\bshell(?:Word|Value)\()[^}]*\}/g),
  ].map(([found]) => found);
}

test('what is written into a command that people copy is one word of a shell', () => {
  const bare = ['tramline connect --user $', '{user}'].join('');
  const text = [`\`${bare}\`; \`tramline organizations get $`, '{shellWord(id)}`'].join('');
  const value = ['tramline connect --user $', '{shellValue(user)}'].join('');
  expect([unquotedIn(text), unquotedIn(value)]).toEqual([[bare], []]);
  const sources = files.filter(({ path }) => /^src\/(?!simulator\/)/.test(path));
  const quoted = sources.filter(({ text: source }) => /\$\{shell(?:Word|Value)\(/.test(source));
  expect(quoted.length).toBeGreaterThan(6);
  for (const { path, text: source } of sources) expect([path, unquotedIn(source)]).toEqual([path, []]);
});

/** What stands in a block of shell, or between backticks. */
function commandsIn(text: string): string[] {
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, block = '']) =>
    block.split('\n'),
  );
  const prose = text.replace(/^```[\s\S]*?^```$/gm, '');
  const inline = [...prose.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replace(/\s+/g, ' '));
  return [...blocks, ...inline].map((command) => command.trim()).filter((command) => command !== '');
}

/** Why `tramline …` would not be taken as it stands; null when it would. */
async function faultOf(command: string): Promise<string | null> {
  const [, ...words] = command.replace(/ \|.*$/, '').split(' ');
  const options = words.filter((word) => word.startsWith('--'));
  const { code, out } = await shell.run(...words.filter((word) => !word.startsWith('--')), '--help');
  const usage = /^Usage: tramline (.*)$/m.exec(out)?.[1] ?? '';
  const path = usage.split(' ').filter((word) => /^[a-z]/.test(word));
  if (code !== 0 || path.some((word, place) => words[place] !== word)) return 'no such command';
  const unknown = options.filter((option) => !new RegExp(`${option}\\b`).test(out));
  if (unknown.length > 0) return `no ${unknown.join()}`;
  const valued = options.filter((option) => new RegExp(`${option} <`).test(out)).length;
  const given = words.length - path.length - options.length - valued;
  const wanted = usage.match(/<[^>]+>/g)?.length ?? 0;
  const optional = usage.match(/\[(?!options|command)[^\]]+\]/g) ?? [];
  const isList = optional.some((argument) => argument.endsWith('...]'));
  const taken = isList ? Number.POSITIVE_INFINITY : wanted + optional.length;
  return given < wanted || given > taken ? `${given} words where ${wanted} to ${taken} are taken` : null;
}

async function faultsIn(text: string): Promise<string[]> {
  const faults: string[] = [];
  for (const command of commandsIn(text).filter((one) => /^tramline\b/.test(one))) {
    const fault = await faultOf(command);
    if (fault !== null) faults.push(`${command}: ${fault}`);
  }
  return faults;
}

test('a command that does not exist, lacks its word or has an unknown option is caught', async () => {
  const text = [
    '```sh\ntramline organizations get\ntramline nonsense\ntramline sync --full --json\n```',
    'Then `tramline organizations\nprobe ID`, `tramline parked ID` or `tramline sync --all`, `tramline quarantine release ID ID`.',
    '`tramline organizations show 1`',
  ].join('\n');
  expect(await faultsIn(text)).toEqual([
    'tramline organizations get: 0 words where 1 to 1 are taken',
    'tramline nonsense: 1 words where 0 to 0 are taken',
    'tramline parked ID: 1 words where 0 to 0 are taken',
    'tramline sync --all: no --all',
    'tramline organizations show 1: 2 words where 0 to 0 are taken',
  ]);
});

test('every command of a runbook is taken as it stands', async () => {
  for (const { path, text } of runbooks) expect([path, await faultsIn(text)]).toEqual([path, []]);
});

test('every command of a first step is taken as it stands, and is on the page of its alert', async () => {
  const lacking: string[] = [];
  for (const { name, firstStep } of catalogue) {
    expect([name, await faultsIn(firstStep)]).toEqual([name, []]);
    const page = commandsIn(textOf(`deploy/runbooks/${name}.md`));
    const own = commandsIn(firstStep).filter((command) => command.startsWith('tramline '));
    const missing = own.filter((command) => {
      const [plain] = command.split(' {id}');
      return !page.some((typed) => typed.startsWith(plain!));
    });
    lacking.push(...missing.map((command) => `${name}: ${command}`));
  }
  expect(lacking).toEqual([]);
});

test('every command that a rule names is taken as it stands, and that of its first step is on its page', async () => {
  const { groups } = parse(textOf('deploy/prometheus/rules.yml')) as {
    groups: { rules: { alert?: string; annotations?: Record<string, string> }[] }[];
  };
  for (const { alert, annotations = {} } of groups.flatMap(({ rules }) => rules)) {
    const told = Object.values(annotations).join('\n');
    expect([alert, await faultsIn(told), commandsIn(told).flatMap(cutShort)]).toEqual([alert, [], []]);
    const page = commandsIn(textOf(`deploy/runbooks/${alert}.md`));
    const lacking = commandsIn(annotations.first_step ?? '').filter((command) => !page.includes(command));
    expect([alert, lacking]).toEqual([alert, []]);
  }
});

/** A log that is chosen by a label is told by its last ten lines only, unless it says how many; what is searched, whole. */
function cutShort(command: string): string[] {
  const isCut = /^kubectl logs\b.* (-l|--selector)\b/.test(command) && !/ --tail=(-1|\d+$)/.test(command);
  return isCut ? [command] : [];
}

test('a log that is read by label says how much of it, and all of it where it is searched', () => {
  const logs = 'kubectl logs -l a=b';
  expect(cutShort(`${logs} --since=30m | grep fault`)).toEqual([`${logs} --since=30m | grep fault`]);
  expect(cutShort(`${logs} --tail=50 | grep fault`)).toEqual([`${logs} --tail=50 | grep fault`]);
  const whole = ['--tail=-1 | grep fault', '--tail=50'].flatMap((end) => cutShort(`${logs} ${end}`));
  expect([...whole, ...cutShort('kubectl logs tramline-0')]).toEqual([]);
  for (const { path, text } of runbooks)
    expect([path, commandsIn(text).flatMap(cutShort)]).toEqual([path, []]);
});

/** What a tool of Prometheus or Alertmanager reads or asks; left out, amtool asks an address that its command does not show. */
function placeless(command: string): string[] {
  const [tool] = /^(amtool|promtool)\b/.exec(command) ?? [];
  if (tool === undefined) return [];
  const isAsked = / --alertmanager\.url=https?:\/\/\S+/.test(command);
  const named = [...command.matchAll(/(?:--config\.file=| )([\w./-]+\.yml)\b/g)].map(([, path]) => path!);
  const isRead = named.length > 0 && named.every((path) => files.some((file) => file.path === path));
  return isAsked || isRead ? [] : [command];
}

test('a command of amtool or promtool names the file that it reads, which is there, or the address that it asks', () => {
  const bare = ['amtool config routes test a=b', 'amtool alert query', 'promtool check rules deploy/no.yml'];
  expect(bare.flatMap(placeless)).toEqual(bare);
  expect(placeless('promtool check rules deploy/prometheus/rules.yml')).toEqual([]);
  expect(placeless('amtool --alertmanager.url=http://127.0.0.1:9093 alert query')).toEqual([]);
  for (const { path, text } of runbooks)
    expect([path, commandsIn(text).flatMap(placeless)]).toEqual([path, []]);
});

/** Without a token that is set the API answers nobody. */
const bearer = '-H "Authorization: Bearer $OPERATIONS_TOKEN"';

/** What a command asks of the operations listener and looks for in its answer, of which nothing is known. */
function unknownOf(command: string): string[] {
  const asked = /^curl -s (?:-H \S+ \S+ \S+ )?'?http:\/\/127\.0\.0\.1:(\d+)(\/[^' |?]*)/.exec(command);
  if (asked === null) return [];
  const [, port, path = ''] = asked;
  if (port === '9090') return [];
  const known = ['/metrics', '/healthz', '/readyz', ...apiRoutes.map((route) => route.path)];
  const metrics = [...parseMetricsList(textOf('test/fixtures/metrics.txt')).keys()];
  const patterns =
    /\| grep (.*)$/
      .exec(command)?.[1]
      ?.replace(/'/g, '')
      .split(/\\\||-e /) ?? [];
  const words = [
    ...metrics.flatMap((name) => [name, `${name}_bucket`, `${name}_count`]),
    ...Object.keys(refusalReasons),
  ];
  return [
    ...(port === String(table.OPERATIONS_PORT.fallback) ? [] : [`port ${port}`]),
    ...(known.includes(path) ? [] : [path]),
    ...(!path.startsWith('/api') || command.includes(bearer) ? [] : [`${path} without a token`]),
    ...patterns.map((one) => one.trim()).filter((one) => !words.some((word) => word.includes(one))),
  ];
}

test('a path, a port and a metric that do not exist are caught', () => {
  const at = 'curl -s http://127.0.0.1:9464';
  expect(unknownOf(`${at}/metrics | grep 'tramline_tasks\\|tramline_nothing'`)).toEqual(['tramline_nothing']);
  expect(unknownOf("curl -s 'http://127.0.0.1:9000/api/things?limit=5'")).toEqual([
    'port 9000',
    '/api/things',
    '/api/things without a token',
  ]);
});

test('every path and every metric that a runbook looks at exists', () => {
  for (const { path, text } of runbooks) {
    expect([path, commandsIn(text).flatMap(unknownOf)]).toEqual([path, []]);
  }
});

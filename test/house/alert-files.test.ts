// Goal: what stands in deploy/ agrees with what the service says of itself: whoever is paged finds a runbook, rules and
// dashboards name metrics that exist, and each rule is shown firing and not firing.
// Method: pure checks over the files, each shown a bad example first. What promtool says of them is asked elsewhere.
import { parse } from 'yaml';
import { catalogue, conditionRows, testRow } from '../../src/alert/catalogue';
import { table } from '../../src/config/table';
import { unattendedAlert } from '../../src/operations/unattended';
import { namedIn, parseMetricsList, unknownIn } from '../support/promql';
import { type RepositoryFile, repositoryFiles } from './repository-files';

type Rule = {
  alert?: string;
  record?: string;
  expr: string;
  keep_firing_for?: string;
  labels: Record<string, string>;
  annotations?: Record<string, string>;
};
type Expected = { exp_labels?: Record<string, string> };
type RuleTest = { alert_rule_test?: { alertname: string; exp_alerts: Expected[] }[] };
type Panel = { title: string; type: string; datasource?: { uid: string }; targets?: { expr: string }[] };
type Dashboard = { uid: string; templating: { list: { name: string; type: string }[] }; panels: Panel[] };

const files = repositoryFiles();
const textOf = (path: string): string => files.find((file) => file.path === path)?.text ?? '';
const exported = parseMetricsList(textOf('test/fixtures/metrics.txt'));
const { groups } = parse(textOf('deploy/prometheus/rules.yml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.filter((rule): rule is Rule & { alert: string } => rule.alert !== undefined);
const recorded = [...new Set(rules.flatMap(({ record }) => (record === undefined ? [] : [record])))];
const dashboards = files.filter(({ path }) => /^deploy\/grafana\/.+\.json$/.test(path));

const headings = ['Meaning', 'Impact', 'Diagnosis', 'Mitigation', 'How it ends'];

/** What a runbook lacks: a section, the heading of its alert, or a command to look with. */
function gapsOf({ path, text }: RepositoryFile): string[] {
  const name = path.replace(/^.*\/|\.md$/g, '');
  const found = [...text.matchAll(/^## (.+)$/gm)].map((match) => match[1]);
  const diagnosis = text.slice(text.indexOf('## Diagnosis'), text.indexOf('## Mitigation'));
  const empty = text.split(/^## .+$/m).some((section) => section.trim() === '');
  return [
    ...(text.startsWith(`# ${name}\n`) ? [] : ['title']),
    ...(found.join() === headings.join() ? [] : ['sections']),
    ...(empty ? ['empty section'] : []),
    ...(/^```sh\n\S[^`]+\n```$/m.test(diagnosis) ? [] : ['command']),
  ];
}

test('a runbook without a section, a text or a command is caught', () => {
  const page = (text: string) => ({ path: 'deploy/runbooks/A.md', text });
  const whole = `# A\n\n${headings.map((heading) => `## ${heading}\n\ntext\n`).join('\n')}`;
  const command = '## Diagnosis\n\n```sh\ntramline check\n```\n';
  expect(gapsOf(page(whole))).toEqual(['command']);
  expect(gapsOf(page(whole.replace('## Diagnosis\n\ntext\n', command)))).toEqual([]);
  expect(gapsOf(page('# B\n## Meaning\n'))).toEqual(['title', 'sections', 'empty section', 'command']);
});

test('every name that may page has a complete runbook, and no runbook is of a name that is gone', () => {
  const pages = files.filter(({ path }) => path.startsWith('deploy/runbooks/'));
  const names = new Set([...catalogue.map(({ name }) => name), ...alerts.map(({ alert }) => alert)]);
  expect(pages.map(({ path }) => path)).toEqual(
    [...names].sort().map((name) => `deploy/runbooks/${name}.md`),
  );
  for (const page of pages) expect([page.path, gapsOf(page)]).toEqual([page.path, []]);
});

const inWords: Record<string, string> = { '5m': 'five', '10m': 'ten', '15m': 'fifteen' };

/** What is said of an alert's end, in its page. */
function endOf(name: string): string {
  const text = textOf(`deploy/runbooks/${name}.md`);
  return text.slice(text.indexOf('## How it ends')).replace(/\s+/g, ' ');
}

test('a page says for how long its alert fires on when what it tells is over', () => {
  const lingering = alerts.filter(({ keep_firing_for: kept }) => kept !== undefined);
  expect(lingering.length).toBeGreaterThan(10);
  for (const { alert, keep_firing_for: kept = '' } of lingering) {
    const said = new RegExp(`fires? for ${inWords[kept]} minutes more|for ${inWords[kept]} under`);
    expect([alert, kept, endOf(alert)]).toEqual([alert, kept, expect.stringMatching(said)]);
  }
  // The service holds its own; its test ends at once.
  for (const { name } of catalogue.filter((row) => row !== testRow)) {
    expect([name, endOf(name)]).toEqual([name, expect.stringContaining('closes after its hold')]);
  }
});

/** For how long a page says that its alert may be learned anew; null: it says nothing of it. */
function relearnedIn(end: string): string | null {
  const said = /After a restart, .*it may stay open for (\d+ \w+) although its state is over/.exec(end);
  return said?.[1] ?? null;
}

const counted = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'}`;

test('a page says for how long its alert may stay open after a start, and where it does not it says nothing', () => {
  expect(
    relearnedIn('It ends. After a restart, it may stay open for 5 minutes although its state is over.'),
  ).toBe('5 minutes');
  for (const { name } of catalogue) {
    const row = Object.values(conditionRows).find((one) => one.name === name);
    const minutes = (row?.relearnedWithinMs ?? 0) / 60_000;
    const wanted = minutes < 1440 ? counted(minutes, 'minute') : counted(minutes / 60, 'hour');
    expect([name, relearnedIn(endOf(name))]).toEqual([name, minutes === 0 ? null : wanted]);
  }
});

/** While these fire something waits, here or at the provider. */
const waiting = new Set(
  [
    'IntakeBudgetBurn',
    'FreshnessBudgetBurn',
    'StoreUnreachable',
    'BacklogOld',
    'OutboxStuck',
    'ProviderErrors',
  ]
    .concat('QuarantineGrowing', 'MalformedDeliveries', 'TimestampsRefused', 'Down', 'Restarting')
    .concat('MetricsAbsent', 'WorkersAbsent')
    .map((name) => `Tramline${name}`),
);

test('every rule that tells somebody says what, who, what to do first, where to read on, and until when what waits is kept', () => {
  const bases = new Set<string>();
  for (const { alert, labels, annotations = {} } of alerts) {
    expect(alert).toMatch(/^Tramline([A-Z][a-z]+)+$/);
    expect(labels).toMatchObject({
      severity: expect.stringMatching(/^(critical|warning|info|none)$/),
      owner: expect.stringMatching(/^(customer-success|on-call|platform)$/),
      service: 'tramline',
    });
    const told = ['description', 'runbook_url', 'summary'];
    if (labels.severity !== 'none') told.push('first_step');
    if (waiting.has(alert)) told.push('until_when');
    expect([alert, Object.keys(annotations).sort()]).toEqual([alert, told.sort()]);
    if (labels.severity !== 'none') expect(annotations.first_step).toMatch(/^[A-Z].*`[a-z]+ .*\.$/);
    expect(annotations.runbook_url).toMatch(new RegExp(`/deploy/runbooks/${alert}\\.md$`));
    bases.add((annotations.runbook_url ?? '').replace(/[^/]+$/, ''));
  }
  expect([...bases].map((base) => base.replace(/\/$/, ''))).toEqual([table.ALERT_RUNBOOK_URL.fallback]);
});

test('no alert has a name that the service itself pages under', () => {
  const own = new Set(catalogue.map(({ name }) => name));
  expect(alerts.map(({ alert }) => alert).filter((alert) => own.has(alert))).toEqual([]);
});

test('the alert that commands list where nobody evaluates says what the rule of its name says', () => {
  const runbookBase = table.ALERT_RUNBOOK_URL.fallback ?? '';
  const journalDays = Number(table.JOURNAL_DAYS.fallback);
  const listed = unattendedAlert(60_000, 100_000, { runbookBase, journalDays });
  const rule = alerts.find(({ alert }) => alert === listed?.name);
  const { summary, until_when = '', runbook_url } = rule?.annotations ?? {};
  expect(listed?.severity).toBe(rule?.labels.severity);
  expect(listed?.annotations).toMatchObject({
    owner: rule?.labels.owner,
    summary,
    runbook_url,
    until_when: until_when.replace(`${journalDays} by default`, String(journalDays)),
  });
});

/** Which of the rules of one name an expected alert is of: of those whose labels it has, the one that says most. */
function ruleOf(name: string, expected: Record<string, string> = {}): number {
  const named = alerts
    .map(({ alert, labels }, at) => ({ alert, labels: Object.entries(labels), at }))
    .filter(
      ({ alert, labels }) => alert === name && labels.every(([label, value]) => expected[label] === value),
    );
  return named.toSorted((left, right) => right.labels.length - left.labels.length)[0]?.at ?? -1;
}

test('R6: every rule is shown firing, and all but the watchdog not firing', () => {
  const files = ['rules.test.yml', 'rules.budget.test.yml', 'rules.outage.test.yml'];
  const parsed = files.map((file) => parse(textOf(`deploy/prometheus/${file}`)) as { tests: RuleTest[] });
  const cases = parsed.flatMap(({ tests }) => tests).flatMap(({ alert_rule_test }) => alert_rule_test ?? []);
  const shown = cases.map(({ alertname, exp_alerts }) => ({
    alertname,
    fire: new Set(exp_alerts.map(({ exp_labels }) => ruleOf(alertname, exp_labels))),
  }));
  // No case tells of a rule that there is not.
  expect(shown.filter(({ fire }) => fire.has(-1))).toEqual([]);
  const unshown = alerts.map(({ alert, labels }, at) => {
    const of = shown.filter(({ alertname }) => alertname === alert);
    const fires = of.some(({ fire }) => fire.has(at));
    const rests = alert === 'TramlineWatchdog' || of.some(({ fire }) => !fire.has(at));
    return fires && rests ? null : { alert, labels, fires, rests };
  });
  expect(unshown.filter((one) => one !== null)).toEqual([]);
});

test('names are read from an expression, and what is not exported is caught', () => {
  const expression = 'sum by (state) (rate(a_total{b="c_total"}[5m])) / on (d) max(e:f) unless vector(1) > 2';
  expect(namedIn(expression)).toEqual({ metrics: ['a_total', 'e:f'], labels: ['state', 'd', 'b'] });
  const known = new Map([['a_total', ['b', 'state']]]);
  expect(unknownIn(expression, known)).toEqual(['e:f', 'd']);
  expect(
    unknownIn('histogram_quantile(0.9, h_seconds_bucket{le="1"})', new Map([['h_seconds', []]])),
  ).toEqual([]);
});

test('every rule uses only metrics and labels that are exported, or that it recorded', () => {
  for (const { alert, record, expr } of rules) {
    expect([alert ?? record, unknownIn(expr, exported, ['up', 'ALERTS', ...recorded])]).toEqual([
      alert ?? record,
      [],
    ]);
  }
});

test('there are two dashboards, of whose expressions each uses only exported metrics and labels', () => {
  expect(dashboards.map(({ path }) => path)).toEqual([
    'deploy/grafana/organizations.json',
    'deploy/grafana/service.json',
  ]);
  for (const { text } of dashboards) {
    const { uid, templating, panels } = JSON.parse(text) as Dashboard;
    expect(uid).toMatch(/^tramline-[a-z]+$/);
    expect(templating.list).toMatchObject([{ name: 'datasource', type: 'datasource' }]);
    const drawn = panels.filter(({ type }) => type !== 'row');
    expect(drawn.length).toBeGreaterThan(8);
    for (const { title, datasource, targets = [] } of drawn) {
      expect([title, datasource?.uid, targets.length > 0]).toEqual([title, `$\{datasource}`, true]);
      const unknown = targets.flatMap(({ expr }) => unknownIn(expr, exported));
      expect([title, unknown]).toEqual([title, []]);
    }
  }
});

test('every exported metric is on a dashboard', () => {
  const expressions = dashboards.flatMap(({ text }) =>
    (JSON.parse(text) as Dashboard).panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  );
  const used = new Set(
    expressions.flatMap((expr) =>
      namedIn(expr).metrics.flatMap((name) => [name, name.replace(/_(bucket|count)$/, '')]),
    ),
  );
  const alerted = new Set(rules.flatMap(({ expr }) => namedIn(expr).metrics));
  expect([...exported.keys()].filter((name) => !used.has(name) && !alerted.has(name))).toEqual([]);
});

// Goal: what tells two incidents of one name apart is known to Alertmanager, and what it is routed and silenced by exists;
// and whoever opens a runbook reads in its first line who acts and how urgent it is.
// Method: every alert there is, each under both ends of its time, from the evaluator itself and from the label sets that
// the tests of the rules show firing; held against the shipped configuration and the heads of the pages.
import { parse } from 'yaml';
import { labelsOf } from '../../src/alert/alertmanager-payload';
import { conditionRows, organizationRows } from '../../src/alert/catalogue';
import { type EvaluateOptions, evaluate } from '../../src/alert/evaluate';
import { partOf } from '../../src/alert/part-of';
import { quarantineGroupOf } from '../../src/alert/quarantine-groups';
import { testAlert } from '../../src/alert/test-sinks';
import type { AlertInputs, Condition, ConditionName } from '../../src/model/alert';
import { identityLabels, noInputs } from '../../src/model/alert';
import type { Cause } from '../../src/model/organization';
import { aBlocked, anAlert } from '../unit/alert/samples';
import { repositoryFiles } from './repository-files';

type Labels = Record<string, string>;
type Told = { name: string; labels: Labels };
type Route = { matchers?: string[]; routes?: Route[]; group_by?: string[] };
type Inhibition = { source_matchers: string[]; target_matchers: string[]; equal: string[] };
type Configuration = { route: Route; inhibit_rules: Inhibition[] };
type Rule = { record?: string; expr: string };
type RuleTest = { alert_rule_test?: { alertname: string; exp_alerts: { exp_labels: Labels }[] }[] };

const files = repositoryFiles();
const textOf = (path: string): string => files.find((file) => file.path === path)?.text ?? '';
const { route, inhibit_rules: inhibitions } = parse(
  textOf('deploy/alertmanager/alertmanager.yml'),
) as Configuration;

const dayMs = 86_400_000;
const options: EvaluateOptions = {
  groupAbove: 2,
  runbookBase: 'https://runbooks.example',
  journalMs: 30 * dayMs,
  openStorms: {},
  openAnnouncedUntilMs: null,
  ownNames: [],
  startsAtMs: new Map(),
  openMany: new Map(),
  unlearned: new Set<string>(),
};

/** Each test is a page of its own, by a label that no stored alert has. */
const testPage = testAlert(options.runbookBase, 0);

/** Everything that the service may tell, in a world where all of it holds since `sinceMs`. */
function ownAlerts(nowMs: number): Told[] {
  const causes = Object.keys(organizationRows) as Cause[];
  const blockedOf = (organizationId: string, cause: Cause) =>
    aBlocked({ organizationId, cause, sinceMs: 0, connectionId: `c${organizationId}` });
  const announcedOf = (organizationId: string) => ({ organizationId, name: null, dueAtMs: 10 * dayMs });
  const worlds: AlertInputs[] = [
    {
      ...noInputs,
      blocked: causes.map((cause, index) => blockedOf(`${index}`, cause)),
      announced: ['8', '9'].map(announcedOf),
      quarantined: [...Object.keys(quarantineGroupOf), 'a later reason'].map((reason) => ({
        reason,
        count: 1,
        oldestMs: 0,
      })),
    },
    {
      ...noInputs,
      blocked: ['1', '2', '3'].map((id) => blockedOf(id, 'terms')),
      announced: ['1', '2', '3'].map(announcedOf),
    },
  ];
  const ends = (name: ConditionName) => (name === 'token-expiring' ? { endsAtMs: 10 * dayMs } : {});
  const conditions = (Object.keys(conditionRows) as ConditionName[]).map(
    (name): Condition => ({ name, sinceMs: 0, detail: 'It is so.', ...ends(name) }),
  );
  const harmless = conditions
    .filter(({ name }) => name === 'clock-off' || name === 'delivery-secret-unopened')
    .map((condition): Condition => ({ ...condition, losesNothing: true }));
  const parts = conditions.filter(({ name }) => partOf[name] !== undefined);
  const all = [
    ...worlds.map((inputs) => ({ ...inputs, conditions })),
    ...[harmless, parts].map((alone) => ({ ...noInputs, conditions: alone })),
  ];
  const signals = all.flatMap((inputs) => evaluate({ ...inputs, nowMs }, options));
  const told = [...signals.map((signal) => anAlert(signal)), testPage];
  return told.map((alert) => ({ name: alert.name, labels: labelsOf(alert, alert.severity) }));
}

const own = [dayMs / 2, 10 * dayMs, 29 * dayMs].flatMap(ownAlerts);
const ofRules = ['rules.test.yml', 'rules.budget.test.yml', 'rules.outage.test.yml']
  .flatMap((file) => (parse(textOf(`deploy/prometheus/${file}`)) as { tests: RuleTest[] }).tests)
  .flatMap(({ alert_rule_test: cases = [] }) => cases)
  .flatMap(({ alertname, exp_alerts: firing }) =>
    firing.map(({ exp_labels: labels }): Told => ({ name: alertname, labels: { alertname, ...labels } })),
  );
const everyAlert = [...own, ...ofRules];

/** What does not tell incidents apart: whom it concerns, how urgent it is, the windows of one objective, and the process. */
const notIdentity = new Set(['service', 'severity', 'owner', 'job', 'window', 'instance']);
const identities = new Set([
  'alertname',
  ...identityLabels,
  ...Object.keys(testPage.labels),
  ...ofRules.flatMap(({ labels }) => Object.keys(labels).filter((label) => !notIdentity.has(label))),
]);

const routesOf = (at: Route): Route[] => [at, ...(at.routes ?? []).flatMap(routesOf)];

/** What `name="value"` and the like ask for; Alertmanager reads a pattern as one of the whole value. */
function readMatcher(matcher: string): { label: string; takes(value: string): boolean } {
  const [, label = '', operator = '', value = ''] = /^(\w+)(=~|=)"(.*)"$/.exec(matcher) ?? [];
  const pattern = new RegExp(`^(?:${value})$`);
  return { label, takes: (given) => (operator === '=' ? given === value : pattern.test(given)) };
}

function areMatched(labels: Labels, matchers: string[]): boolean {
  return matchers.map(readMatcher).every(({ label, takes }) => takes(labels[label] ?? ''));
}

/** Alternatives of a matcher that no alert ever has. */
function deadIn(matcher: string, alerts: Told[]): string[] {
  const { label } = readMatcher(matcher);
  const [, values = ''] = /"(.*)"/.exec(matcher) ?? [];
  return values
    .split('|')
    .filter((value) => value !== '.+' && alerts.every(({ labels }) => labels[label] !== value));
}

test('a label or a value that no alert has is caught', () => {
  expect(readMatcher('a=~"b|c"').takes('c')).toBe(true);
  expect(readMatcher('a=~"b|c"').takes('bc')).toBe(false);
  expect(deadIn('severity=~"critical|fatal"', own)).toEqual(['fatal']);
  expect(deadIn('nonsense="x"', own)).toEqual(['x']);
});

test('incidents of one name are grouped by all that tells them apart, and by nothing that no alert has', () => {
  expect(route.group_by?.toSorted()).toEqual([...identities].sort());
});

test('names that share an incident are all critical, and of nothing but the service as a whole', () => {
  const shared = routesOf(route)
    .slice(1)
    .filter(({ group_by: labels }) => labels !== undefined);
  expect(shared.length).toBeGreaterThan(0);
  const subjects = [...identities].filter((label) => label !== 'alertname');
  for (const { matchers = [], group_by: labels } of shared) {
    const together = everyAlert.filter((alert) => areMatched(alert.labels, matchers));
    expect([matchers, labels, new Set(together.map(({ name }) => name)).size > 1]).toEqual([
      matchers,
      ['service'],
      true,
    ]);
    for (const { name, labels: given } of together) {
      const apart = subjects.filter((label) => given[label] !== undefined);
      expect([name, given.severity, apart]).toEqual([name, 'critical', []]);
    }
  }
});

test('every alert has what routes ask for, and every route is of an alert', () => {
  const [, ...routes] = routesOf(route);
  const asked = new Set(routes.flatMap(({ matchers = [] }) => matchers.map((one) => readMatcher(one).label)));
  expect([...asked].sort()).toEqual(['alertname', 'owner', 'service', 'severity']);
  for (const { name, labels } of everyAlert) {
    expect([name, [...asked].filter((label) => (labels[label] ?? '') === '')]).toEqual([name, []]);
  }
  for (const { matchers = [] } of routes) {
    expect([matchers, matchers.flatMap((matcher) => deadIn(matcher, everyAlert))]).toEqual([matchers, []]);
    expect([matchers, everyAlert.some(({ labels }) => areMatched(labels, matchers))]).toEqual([
      matchers,
      true,
    ]);
  }
});

test('an incident silences only itself under a lower severity, or symptoms of the same service', () => {
  const [sameIncident, ...others] = inhibitions;
  expect(sameIncident!.equal.toSorted()).toEqual([...identities].sort());
  for (const { source_matchers: source, target_matchers: target } of inhibitions) {
    expect([...source, ...target].flatMap((matcher) => deadIn(matcher, everyAlert))).toEqual([]);
    const sources = everyAlert.filter(({ labels }) => areMatched(labels, source));
    const targets = everyAlert.filter(({ labels }) => areMatched(labels, target));
    expect([source, sources.length > 0, targets.length > 0]).toEqual([source, true, true]);
    expect([...sources, ...targets].filter(({ labels }) => labels.service !== 'tramline')).toEqual([]);
  }
  const ofWindows = others.filter(({ source_matchers: source }) => source.join() === aftermath);
  expect(ofWindows.map(({ equal }) => equal)).toEqual([['service', 'slo', 'window']]);
  for (const one of others) if (!ofWindows.includes(one)) expect(one.equal).toEqual(['service']);
});

/** What an outage left behind tells noInputs; what it fires for has paged. */
const aftermath = 'alertname="TramlineOutageAftermath"';
const severities = ['critical', 'warning', 'info', 'none'];

/** Who silences whom by what is shipped: an alert of one name and urgency, and another that differs in either. */
function silences(): { source: Told; target: Told }[] {
  const distinct = [
    ...new Map(everyAlert.map((alert) => [`${alert.name} ${alert.labels.severity}`, alert])).values(),
  ];
  return inhibitions.flatMap(({ source_matchers: by, target_matchers: of }, index) =>
    distinct
      .filter(({ labels }) => areMatched(labels, by))
      .flatMap((source) =>
        distinct
          .filter((target) => target !== source && areMatched(target.labels, of))
          // The first one is of one incident, whose name is the same.
          .filter((target) => index > 0 || target.name === source.name)
          .map((target) => ({ source, target })),
      ),
  );
}

const rankOf = ({ labels }: Told): number => severities.indexOf(labels.severity ?? '');

test('nothing silences what is more urgent than itself', () => {
  const found = silences()
    .filter(({ source }) => !areMatched(source.labels, [aftermath]))
    .filter(({ source, target }) => rankOf(source) > rankOf(target));
  expect(found.map(({ source, target }) => `${source.name} silences ${target.name}`)).toEqual([]);
  expect(silences().length).toBeGreaterThan(inhibitions.length);
});

test('a part of another state is silenced by the service alone, which knows whether both have one cause', () => {
  const parts = (Object.keys(partOf) as ConditionName[]).map((name) => conditionRows[name].name);
  expect(parts.length).toBeGreaterThan(0);
  expect(everyAlert.filter(({ name }) => parts.includes(name))).not.toEqual([]);
  expect(silences().filter(({ target }) => parts.includes(target.name))).toEqual([]);
});

test('a client key that is refused, or a provider that is away, is no second page for the lists that it leaves unread', () => {
  const unread = silences().filter(({ target }) => target.name === 'TramlineListingsUnread');
  expect(unread.map(({ source }) => source.name).sort()).toEqual([
    'TramlineClientRefused',
    'TramlineProviderUnavailable',
  ]);
});

test('what silences in the name of an outage fires for names that page, and silences the budgets alone', () => {
  const { groups } = parse(textOf('deploy/prometheus/rules.yml')) as { groups: { rules: Rule[] }[] };
  const outage = groups.flatMap(({ rules }) => rules).filter(({ record = '' }) => /^slo:outage/.test(record));
  const expressions = outage.map(({ expr }) => expr).join();
  const named = [...expressions.matchAll(/\b(?:alert)?name=~?"([^"]+)"/g)].flatMap(([, names = '']) =>
    names.split('|'),
  );
  const paging = everyAlert.filter(({ labels }) => labels.severity === 'critical').map(({ name }) => name);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !paging.includes(name))).toEqual([]);
  const silenced = silences().filter(({ source }) => areMatched(source.labels, [aftermath]));
  const targets = new Set(silenced.map(({ target }) => target.name));
  expect([...targets].sort()).toEqual(['TramlineFreshnessBudgetBurn', 'TramlineIntakeBudgetBurn']);
});

test('no silence comes back to where it began: something is always heard', () => {
  const of = Map.groupBy(silences(), ({ source }) => source);
  const heardOf = (alert: Told, path: Told[]): Told[][] =>
    path.includes(alert)
      ? [[...path, alert]]
      : (of.get(alert) ?? []).flatMap(({ target }) => heardOf(target, [...path, alert]));
  const circles = [...of.keys()].flatMap((alert) => heardOf(alert, []));
  expect(circles.map((path) => path.map(({ name }) => name).join(' → '))).toEqual([]);
});

/** The line that a page opens with: of each alert, all severities and owners that it may have, the worst first. */
function headOf(name: string): string {
  const told = everyAlert.filter((alert) => alert.name === name);
  const all = (label: string) => [...new Set(told.map(({ labels }) => labels[label] ?? ''))];
  const urgency = severities.filter((severity) => all('severity').includes(severity));
  return `Severity: ${urgency.join(' or ')}. Owner: ${all('owner').sort().join(' or ')}.`;
}

test('a page opens with what the code and the rules say of its alert', () => {
  expect(headOf('TramlineTermsRequired')).toBe('Severity: critical or warning. Owner: customer-success.');
  expect(headOf('TramlineWatchdog')).toBe('Severity: none. Owner: on-call.');
  const pages = files.filter(({ path }) => path.startsWith('deploy/runbooks/'));
  expect(pages.length).toBeGreaterThan(30);
  for (const { path, text } of pages) {
    const name = path.replace(/^.*\/|\.md$/g, '');
    expect([path, text.split('\n').slice(0, 3)]).toEqual([path, [`# ${name}`, '', headOf(name)]]);
  }
});

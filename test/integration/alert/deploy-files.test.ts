// Goal: what is shipped for Prometheus, Alertmanager and Grafana is taken by the real ones and does what it says.
// Method: promtool checks the rules and runs their tests; it also parses every expression of the dashboards; amtool
// checks the configuration and says who is told of what.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describeWithNeighbour } from '../../support/neighbour';
import { prometheusToolsAvailable, runTool, toolMsMax } from '../../support/prometheus-tools';
import { repositoryRoot } from '../../support/repository';

const deploy = join(repositoryRoot(), 'deploy');

describeWithNeighbour('Prometheus', prometheusToolsAvailable(), 'what deploy/ ships for on-call', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tramline-deploy-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('R6, A-12: the rules are valid', () => {
    expect(runTool('deploy/prometheus', 'promtool', 'check', 'rules', 'rules.yml')).toMatchObject({
      code: 0,
    });
  });

  test.each(['rules.test.yml', 'rules.budget.test.yml', 'rules.hold.test.yml', 'rules.outage.test.yml'])(
    'R6, A-12: each rule fires and stays quiet as %s says',
    (tests) => {
      const { code, output } = runTool('deploy/prometheus', 'promtool', 'test', 'rules', tests);
      expect([code, output.match(/SUCCESS|FAILED/g)]).toEqual([0, ['SUCCESS']]);
    },
    toolMsMax,
  );

  test('a rule whose bound is changed fails its tests', () => {
    const rules = readFileSync(join(deploy, 'prometheus/rules.yml'), 'utf8');
    const changed = rules.replace('[5m])) > 900', '[5m])) > 900000');
    expect(changed).not.toBe(rules);
    writeFileSync(join(folder, 'rules.yml'), changed);
    const all = parse(readFileSync(join(deploy, 'prometheus/rules.test.yml'), 'utf8')) as {
      tests: { alert_rule_test?: { alertname: string }[] }[];
    };
    const tests = all.tests.filter(({ alert_rule_test: rules = [] }) =>
      rules.some(({ alertname }) => alertname === 'TramlineBacklogOld'),
    );
    expect(tests.length).toBeGreaterThan(0);
    // Every JSON document is a YAML document.
    writeFileSync(join(folder, 'rules.test.yml'), JSON.stringify({ ...all, tests }));
    const { code, output } = runTool('.', 'promtool', 'test', 'rules', join(folder, 'rules.test.yml'));
    expect(code).not.toBe(0);
    expect(output).toContain('TramlineBacklogOld');
  });

  test('every expression of the dashboards is valid', () => {
    const expressions = readdirSync(join(deploy, 'grafana')).flatMap((file) => {
      const { panels } = JSON.parse(readFileSync(join(deploy, 'grafana', file), 'utf8')) as {
        panels: { targets?: { expr: string }[] }[];
      };
      return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    });
    expect(expressions.length).toBeGreaterThan(30);
    const rules = expressions.map((expr, index) => ({
      record: `panel:${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }));
    // Every JSON document is a YAML document.
    writeFileSync(join(folder, 'panels.yml'), JSON.stringify({ groups: [{ name: 'panels', rules }] }));
    const { code, output } = runTool('.', 'promtool', 'check', 'rules', join(folder, 'panels.yml'));
    expect([code, output]).toEqual([0, expect.stringContaining(`${expressions.length} rules found`)]);
  });

  test('the command by which a runbook shows who is told works as it stands', () => {
    const page = readFileSync(join(repositoryRoot(), 'deploy/runbooks/TramlineTest.md'), 'utf8');
    const [command = ''] = /^amtool .*$/m.exec(page) ?? [];
    const { code, output } = runTool('.', 'amtool', ...command.split(' ').slice(1));
    // Beside the receivers it warns that the file goes before an address.
    expect([command, code, output.split('\n')[0]]).toEqual([command, 0, 'on-call']);
  });

  test('R6: Alertmanager takes its configuration', () => {
    expect(runTool('deploy/alertmanager', 'amtool', 'check-config', 'alertmanager.yml')).toMatchObject({
      code: 0,
    });
  });

  test.each([
    ['customer-success', 'warning', 'TramlineTermsRequired', 'customer-success'],
    ['customer-success', 'critical', 'TramlineTermsRequired', 'on-call,customer-success'],
    ['on-call', 'critical', 'TramlineKafkaUnavailable', 'on-call'],
    ['platform', 'critical', 'TramlineFault', 'on-call'],
    ['on-call', 'warning', 'TramlineBacklogOld', 'on-call-office-hours'],
    ['platform', 'warning', 'TramlineQuarantineNotEmpty', 'platform'],
    ['on-call', 'none', 'TramlineWatchdog', 'dead-man'],
    ['on-call', 'none', 'TramlineOutageAftermath', 'nobody'],
  ])('what %s owns and is %s (%s) is told to %s', (owner, severity, alertname, receivers) => {
    const { output } = runTool(
      'deploy/alertmanager',
      'amtool',
      ...['config', 'routes', 'test', '--config.file=alertmanager.yml'],
      ...['service=tramline', `owner=${owner}`, `severity=${severity}`, `alertname=${alertname}`],
    );
    expect(output.trim().split('\n')).toContain(receivers);
  });

  test('a message of several alerts tells what each of them says', () => {
    const alertOf = (window: string) => ({
      status: 'firing',
      labels: { alertname: 'TramlineIntakeBudgetBurn', window },
      annotations: {
        summary: `burning for ${window}`,
        description: `text of ${window}`,
        first_step: 'Run `tramline check`.',
      },
      startsAt: '2026-01-01T00:00:00Z',
      endsAt: '2026-01-01T00:00:00Z',
    });
    const data = join(folder, 'data.json');
    const common = { commonLabels: { severity: 'warning' }, commonAnnotations: {} };
    const group = { receiver: 'on-call', status: 'firing', groupLabels: {}, externalURL: '', ...common };
    writeFileSync(data, JSON.stringify({ ...group, alerts: [alertOf('1h'), alertOf('6h')] }));
    writeFileSync(join(folder, 'none.tmpl'), '{{ define "none" }}{{ end }}');
    const { receivers } = parse(readFileSync(join(deploy, 'alertmanager/alertmanager.yml'), 'utf8'), {
      merge: true,
    }) as { receivers: { [configs: string]: Record<string, unknown>[] }[] };
    const rendered = (text: string) =>
      runTool(
        '.',
        'amtool',
        ...['template', 'render', `--template.glob=${join(folder, '*.tmpl')}`, `--template.data=${data}`],
        `--template.text=${text}`,
      ).output;
    const pager = receivers[0]!.pagerduty_configs![0]!;
    expect(rendered(String(pager.description))).toContain('burning for 1h');
    expect(rendered(String(pager.severity))).toContain('warning');
    const details = pager.details as Record<string, unknown>;
    expect(rendered(String(details.first_step))).toContain('Run `tramline check`.');
    const texts = [
      String(details.description),
      ...receivers.flatMap(({ slack_configs: configs = [] }) => configs.map(({ text }) => String(text))),
    ];
    expect(texts).toHaveLength(4);
    for (const text of texts) {
      for (const window of ['1h', '6h']) expect(rendered(text)).toContain(`text of ${window}`);
    }
    for (const text of texts.slice(1)) expect(rendered(text)).toContain('First step: Run `tramline check`.');
  });
});

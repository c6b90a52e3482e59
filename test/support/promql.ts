// Reads from a PromQL expression which metrics and labels it names, without understanding it: strings, durations and
// Grafana's variables are taken out first. Whether the expression is valid is promtool's to say.

export type Named = { metrics: string[]; labels: string[] };

const words = new Set(
  'and or unless by without on ignoring group_left group_right bool offset inf nan'.split(' '),
);

/** The metrics and labels that an expression names, each once. Results of functions and aggregations are none. */
export function namedIn(expression: string): Named {
  const labels = new Set<string>();
  const noteLabels = (list: string): void => {
    for (const [label] of list.matchAll(/[a-zA-Z_]\w*/g)) labels.add(label);
  };
  const plain = expression
    .replace(/"(?:\\.|[^"\\])*"/g, '""')
    .replace(/\[[^\]]*\]/g, '')
    .replace(/\b(by|without|on|ignoring)\s*\(([^)]*)\)/g, (_all, _word, list: string) => {
      noteLabels(list);
      return '';
    })
    .replace(/\{([^}]*)\}/g, (_all, matchers: string) => {
      noteLabels(matchers);
      return '';
    });
  const metrics = new Set<string>();
  for (const [, name = '', call] of plain.matchAll(/(?<![\w.:])([a-zA-Z_:][\w:]*)\s*(\()?/g)) {
    if (call === undefined && !words.has(name.toLowerCase())) metrics.add(name);
  }
  return { metrics: [...metrics], labels: [...labels] };
}

/** Name → labels, from lines such as `tramline_tasks{state}`. */
export function parseMetricsList(text: string): Map<string, string[]> {
  return new Map(
    text
      .trim()
      .split('\n')
      .map((line) => {
        const [, name = '', labels = ''] = /^([^{]+)\{(.*)\}$/.exec(line) ?? [];
        return [name, labels.split(',').filter((label) => label !== '')];
      }),
  );
}

/** What of an expression is not exported: names of metrics, and labels that none of its metrics has. */
export function unknownIn(
  expression: string,
  exported: Map<string, string[]>,
  further: string[] = [],
): string[] {
  const { metrics, labels } = namedIn(expression);
  const known = (metric: string): string[] | undefined =>
    exported.get(metric) ?? exported.get(metric.replace(/_(bucket|sum|count)$/, ''));
  const carried = new Set([
    'alertname',
    'alertstate',
    'le',
    'job',
    'instance',
    'slo',
    ...metrics.flatMap((metric) => known(metric) ?? []),
  ]);
  return [
    ...metrics.filter((metric) => known(metric) === undefined && !further.includes(metric)),
    ...labels.filter((label) => !carried.has(label)),
  ];
}

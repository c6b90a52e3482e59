// Requests made from schemas/openapi.yaml: every described route some times over, with values that are meant, misspelt or
// hostile. The same seed gives the same requests. Knows nothing of what is right to answer.
import { type OpenApi, readOpenApi } from './openapi';

export interface GeneratedRequest {
  method: string;
  path: string;
  /** Path and query as they are sent. */
  address: string;
  body: string | null;
  isPublic: boolean;
}

interface Parameter {
  name?: string;
  in?: string;
  schema?: { enum?: unknown[]; type?: string };
}

const strange = [
  '1',
  '0',
  '-1',
  'x',
  '4711/equipment/1',
  'http://x/',
  '../../etc/passwd',
  '%2e%2e',
  '%',
  ' ',
  '\u0000',
  '\ud83d\ude9c',
  "' OR 1=1 --",
  '99999999999999999999',
  '__proto__',
  'a'.repeat(199),
];
const bodies = ['{}', '[]', 'null', '"x"', '{"status":"Paused"}', '{"__proto__":1}', '{', '', '\u0000'];

/** `rounds` requests of each described route. */
export function generateRequests(rounds: number, seed: number): GeneratedRequest[] {
  const random = randomOf(seed);
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)]!;
  const wordFor = ({ schema }: Parameter): string => {
    if (random() < 0.5) return pick(strange);
    if (schema?.enum !== undefined) return String(pick(schema.enum));
    return schema?.type === 'boolean' ? pick(['true', 'false']) : pick(['1', '10', 'x']);
  };
  return routesOf(readOpenApi()).flatMap(({ method, template, parameters, takesBody, isPublic }) =>
    Array.from({ length: rounds }, () => {
      const path = template.replace(/\{\w+\}/g, () => encodeURIComponent(pick(strange)));
      const asked = parameters.filter((parameter) => parameter.in === 'query' && random() < 0.4);
      const pairs = asked.map((one) => `${one.name}=${encodeURIComponent(wordFor(one))}`);
      if (random() < 0.1) pairs.push('unknown=1');
      const address = pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
      return { method, path, address, body: takesBody ? pick(bodies) : null, isPublic };
    }),
  );
}

function routesOf(document: OpenApi) {
  return Object.entries(document.paths).flatMap(([template, item]) =>
    Object.entries(item)
      .filter(([, operation]) => 'responses' in operation)
      .map(([method, operation]) => {
        const { parameters = [], requestBody } = operation as {
          parameters?: Parameter[];
          requestBody?: object;
        };
        const isPublic = template === '/webhooks' || template.startsWith('/connect');
        return {
          method: method.toUpperCase(),
          template,
          parameters,
          takesBody: requestBody !== undefined,
          isPublic,
        };
      }),
  );
}

/** From 0 to 1, the same row for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

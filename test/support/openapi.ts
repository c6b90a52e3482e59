// Holds answers against schemas/openapi.yaml: is this status described for this route, with this media type, and does
// the body fit? Knows the document, and nothing of the product.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';

interface Described {
  description?: string;
  content?: Record<string, { schema: object }>;
  $ref?: string;
}

interface Operation {
  responses: Record<string, Described>;
}

export interface OpenApi {
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, Described>; schemas: Record<string, object> };
}

export function readOpenApi(): OpenApi {
  return parse(readFileSync(join(__dirname, '../../schemas/openapi.yaml'), 'utf8')) as OpenApi;
}

const document = readOpenApi();
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema({ $id: 'openapi', ...document });

/** What is wrong with an answer, in a sentence; null when it is as described. */
export function faultOfAnswer(answer: {
  method: string;
  path: string;
  status: number;
  mediaType: string;
  body: unknown;
}): string | null {
  const { method, status, mediaType } = answer;
  const template = Object.keys(document.paths).find((path) =>
    new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]+')}$`).test(answer.path),
  );
  const operation = template === undefined ? undefined : document.paths[template]?.[method.toLowerCase()];
  // A route or method that is not described may only be refused.
  // What is not foreseen may be the asker's fault; a fault of ours, or of somebody behind us, must be said.
  const others = status < 500 ? operation?.responses.default : undefined;
  const described = operation?.responses[status] ?? others ?? unknownRoute(status);
  if (described === undefined) return `${method} ${answer.path}: ${status} is not described`;
  const name = described.$ref?.split('/').at(-1);
  const { content } = name === undefined ? described : (document.components.responses[name] as Described);
  if (content === undefined) return answer.body === '' ? null : 'a body is not described';
  const place = Object.keys(content).find((type) => mediaType.startsWith(type));
  if (place === undefined) return `${method} ${answer.path}: ${status} as ${mediaType} is not described`;
  const validate = ajv.compile(relocated(content[place]?.schema ?? {}));
  if (validate(answer.body)) return null;
  return `${method} ${answer.path} ${status}: ${ajv.errorsText(validate.errors)}`;
}

function unknownRoute(status: number): Described | undefined {
  return [401, 403, 404, 405].includes(status) ? document.components.responses.Problem : undefined;
}

/** References within the document, seen from outside of it. */
function relocated(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/')) as object;
}

/**
 * Routes of connections: who consented, how long that lasts, the one-time link for a consent, and the end of one. What a
 * user carries back is sent as a body, so that it stands in no address.
 */
import { z } from 'zod';
import { Problem } from '../model/problem';
import { schemaFaultOf } from '../tools/schema';
import { idOf, oneLine, pageOf, readParameters } from './parameters';
import type { Route } from './route';

const carried = oneLine(4096);
const answerSchema = z.strictObject({ code: carried, token: carried.nullish() });

/** Links come first: `links` is no connection's id. */
export const connectionRoutes: Route[] = [
  {
    method: 'get',
    path: '/api/connections',
    summary: 'users that consented, and what they see',
    answer: ({ connections }, asked) => connections.list(pageOf(asked)),
  },
  {
    method: 'post',
    path: '/api/connections/links',
    summary: 'make a one-time link for a consent',
    answer: ({ connections }, { search }) => {
      const { auth, user, callback } = readParameters(search, {
        auth: 'authMethod',
        user: 'text',
        callback: 'reference',
      });
      if (callback !== null && !isCallback(callback)) {
        throw new Problem('command.usage', 'callback must be oob, or an address of a scheme of your own');
      }
      return connections.ask({ auth, user, callback });
    },
  },
  {
    method: 'get',
    path: '/api/connections/links/:id',
    summary: 'what came of it',
    answer: ({ connections }, asked) => connections.consent(idOf(asked)),
  },
  {
    method: 'post',
    path: '/api/connections/links/:id/answer',
    summary: 'the answer that the user carried back',
    takesBody: true,
    answer: ({ connections }, asked) => {
      const id = idOf(asked);
      const fault = schemaFaultOf(answerSchema, asked.body);
      if (fault !== null) throw new Problem('command.usage', 'the body must be {"code", "token"?}');
      const { code, token } = asked.body as z.infer<typeof answerSchema>;
      return connections.answer(id, { code, token: token ?? null });
    },
  },
  {
    method: 'delete',
    path: '/api/connections/:id',
    summary: 'give a consent back and erase its tokens',
    answer: ({ connections }, asked) => connections.revoke(idOf(asked)),
  },
];

/** Not a web address: those are the public listener's, where the browser that began is known again. */
function isCallback(text: string): boolean {
  if (text.toLowerCase() === 'oob') return true;
  const protocol = URL.parse(text)?.protocol;
  return protocol !== undefined && !['http:', 'https:', 'javascript:', 'data:', 'file:'].includes(protocol);
}

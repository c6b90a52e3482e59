// An organization's connection ended at the provider: where, with whose token, and what is said when it cannot be done.
import { endConnection } from '../../../src/connect/end-connection';
import { GrantRefusal } from '../../../src/connect/grant-refusal';
import type { TokenCall, TokenReply } from '../../../src/model/consent';
import { Secret } from '../../../src/tools/secret';
import { connectionOf } from '../../support/provider-client';

const reply = (status: number): TokenReply => ({ status, mediaType: '', body: '', retryAfterMs: null });

function stage(
  status = 204,
  links: [string, string][] = [['organizations', 'https://api.test/p/organizations;count=9?x=1']],
) {
  const called: TokenCall[] = [];
  const doors = {
    calls: {
      links: async () => ({ links: new Map(links) }),
      call: async (call: TokenCall) => {
        called.push(call);
        return reply(status);
      },
    },
    server: { application: async () => new Secret('of-the-application') },
    renewal: { current: (connection: ReturnType<typeof connectionOf>) => connection },
  };
  return { doors, called };
}

test('it is ended below the organization, with a token of the application', async () => {
  const { doors, called } = stage();
  expect(await endConnection(doors, 'a/4711', [connectionOf()])).toBe(true);
  expect(called).toMatchObject([
    { method: 'DELETE', url: 'https://api.test/p/organizations/a%2F4711/connections', ofApi: true },
  ]);
  expect(called[0]!.authorization!.open()).toBe('Bearer of-the-application');
});

test('one that is not there any more has ended; one that is refused has not', async () => {
  expect(await endConnection(stage(404).doors, '4711', [connectionOf()])).toBe(true);
  expect(await endConnection(stage(403).doors, '4711', [connectionOf()])).toBe(false);
});

test('nothing is asked without an issuer, a connection that sees it, a listing or a token that can be renewed', async () => {
  const { doors, called } = stage();
  expect(await endConnection({ ...doors, server: null }, '4711', [connectionOf()])).toBe(false);
  expect(await endConnection(doors, '4711', [])).toBe(false);
  const renewal = { current: async () => ({ refused: null }) };
  expect(await endConnection({ ...doors, renewal }, '4711', [connectionOf()])).toBe(false);
  const none = stage(204, []);
  expect(await endConnection(none.doors, '4711', [connectionOf()])).toBe(false);
  const application = () => Promise.reject(new GrantRefusal('client-refused', 'no'));
  expect(await endConnection({ ...doors, server: { application } }, '4711', [connectionOf()])).toBe(false);
  expect([...called, ...none.called]).toEqual([]);
});

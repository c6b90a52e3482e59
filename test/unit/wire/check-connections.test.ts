// Whoever runs a check is told what to do next: where a user has to consent, no setting is to blame.
import type { OrganizationsPage } from '../../../src/fetch/provider-client';
import type { Connection } from '../../../src/model/connection';
import { CheckFailure } from '../../../src/operations/check';
import { checkConnections } from '../../../src/wire/provider';
import { connectionOf } from '../../support/provider-client';

const seen: OrganizationsPage = { partial: false, organizations: [] };
const away = { partial: true, reason: 'call-failed', detail: 'no answer', answer: null } as const;

/** What the check says, and through which connections it asked. */
async function check(connections: Connection[], pageOf: (id: string) => OrganizationsPage = () => seen) {
  const asked: string[] = [];
  const client = {
    async *organizations(connectionId: string) {
      asked.push(connectionId);
      yield pageOf(connectionId);
    },
  };
  const said = await checkConnections(client, { connections: () => connections }).catch(
    (error: unknown) => error,
  );
  return { said, asked };
}

test('where nobody has consented, the next step is to ask for consent', async () => {
  const { said } = await check([]);
  expect(said).toBeInstanceOf(CheckFailure);
  expect(said).toMatchObject({
    message: expect.stringContaining('no user has given consent, or each was revoked'),
    next: expect.stringContaining('`tramline connect`'),
  });
});

test('a refused consent is not asked with, and the next step is a new one of its user', async () => {
  const refused = connectionOf({ connectionId: 'c2', status: 'refused' });
  const { said, asked } = await check([refused, connectionOf()]);
  expect(asked).toEqual(['c1']);
  expect(said).toBeInstanceOf(CheckFailure);
  expect(said).toMatchObject({
    message: 'the provider refused the consent of c2',
    next: expect.stringContaining('`tramline connect --user NAME`'),
  });
});

test('a consent that is only now found refused is one', async () => {
  const answer = { kind: 'reauthorize', connectionId: 'c1', message: null } as const;
  const { said } = await check([connectionOf()], () => ({ ...away, answer }));
  expect(said).toMatchObject({ message: 'the provider refused the consent of c1', next: expect.any(String) });
});

test('a valid connection without an answer is no matter of consent', async () => {
  const { said } = await check([connectionOf()], () => away);
  expect(said).not.toBeInstanceOf(CheckFailure);
  expect(said).toMatchObject({ message: 'connection c1: no answer' });
});

test('every valid connection is asked', async () => {
  const { said, asked } = await check([connectionOf(), connectionOf({ connectionId: 'c2' })]);
  expect(said).toBe('answers for 2 connections');
  expect(asked).toEqual(['c1', 'c2']);
});

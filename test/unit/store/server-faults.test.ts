/**
 * What is not now and what is not so: a call that is refused is set aside or answered as its fault, so that nothing that
 * passes by itself may be taken for it.
 */
import { DatabaseError } from 'pg';
import { Problem } from '../../../src/model/problem';
import { isBroken, problemOf } from '../../../src/store/postgres/server/faults';

const said = (code: string, more: object = {}) => Object.assign(new Error('no'), { code, ...more });
const thrownBy = (act: () => unknown): Error => {
  try {
    act();
  } catch (error) {
    return error as Error;
  }
  throw new Error('it did not throw');
};

test.each([
  ['of a socket', said('ECONNRESET')],
  ['of a socket that is as long as an SQLSTATE', said('EPIPE')],
  ['of every address of a name', new AggregateError([said('ECONNREFUSED')])],
  ['of the driver, in words of its own', new Error('Client was closed and is not queryable')],
  ['of the driver about time', new Error('Query read timeout')],
  ['of the driver about an answer', new DatabaseError('received invalid response: 7', 5, 'error')],
  ['of a server that ends', said('57P01')],
  ['of a statement that another session prepared', said('26000')],
])('an error %s is the store being away, on a connection that is given up', (_whose, error) => {
  expect(problemOf(error).code).toBe('store.unavailable');
  expect(isBroken(error)).toBe(true);
});

test.each([
  ['no place for a session', '53300'],
  ['a full disk', '53100'],
  ['a statement that took too long', '57014'],
  ['a lock that was waited for', '55P03'],
  ['a database that may only be read', '25006'],
  ['a table that is not there', '42P01'],
  ['a right that is not there', '42501'],
  ['a schema that is not there', '3F000'],
  ['a password that no longer holds', '28P01'],
  ['a database that is not there', '3D000'],
  ['damage on its disk', 'XX001'],
  ['a deadlock', '40P01'],
  ['a commit that nobody can tell of', '40003'],
])('%s is the store being away, on a connection that still holds', (_what, code) => {
  expect(problemOf(said(code)).code).toBe('store.unavailable');
  expect(isBroken(said(code))).toBe(false);
});

test.each(['GetNewTransactionId', 'GetNewMultiXactId'])(
  'a server without numbers for transactions (%s) is the store being away',
  (routine) => {
    expect(problemOf(said('54000', { routine })).code).toBe('store.unavailable');
    expect(isBroken(said('54000', { routine }))).toBe(false);
  },
);

test.each([
  ['a value that is none of its type', said('22P02')],
  ['a value that breaks a rule of its table', said('23514')],
  ['two rows of one key', said('23505', { constraint: 'hints_pkey' })],
  ['a statement that is too large', said('54000')],
  ['a row that is too large', said('54000', { routine: 'RelationGetBufferForTuple' })],
  ['a fault of ours', new TypeError('x of undefined')],
  ['a fault of ours that Node knows', thrownBy(() => Buffer.from(undefined as never))],
  ['a fault of ours at an address', thrownBy(() => new URL('x'))],
  ['what is no error', 'thrown'],
])('%s is the call being at fault, and the connection is kept', (_what, error) => {
  expect(problemOf(error).code).toBe('store.refused');
  expect(isBroken(error as Error)).toBe(false);
});

test.each(['26000', '42P05'])(
  'a statement that is another session’s (%s) is told as what it comes of',
  (code) => {
    expect(problemOf(said(code)).message).toMatch(/^DATABASE_URL leads to a pooler that lends a session /);
  },
);

test.each([
  ['28P01', 'the database refuses the login: no; a process has a new password by a restart with it alone'],
  ['28000', 'the database refuses the login: no'],
])('a login that is refused (%s) is told as that, and when a restart is its cure', (code, message) => {
  expect(problemOf(said(code)).message).toBe(message);
});

test.each(['EMFILE', 'ENFILE'])('a limit of open files (%s) is told as that, and of no server', (code) => {
  const { message } = problemOf(said(code));
  expect(message).toMatch(/^no connection to the database: this process, or its machine, has as many files /);
});

test('what was said of it already stays', () => {
  const problem = new Problem('store.closed', 'closed');
  expect(problemOf(problem)).toBe(problem);
  expect(isBroken(problem)).toBe(false);
});

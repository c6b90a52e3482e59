/**
 * What each session is asked for, as it connects and once more after it: a pooler between may take the first from nobody. Pure.
 */

/** What waits for a lock is over after this. */
const lockMsMax = 2500;
/** A process that was stopped in the middle must not keep what others wait for. */
const idleInTransactionMs = 4000;

/** Of the connection; the address may say others, and `askAgain` gives them where none is said. */
export const sessionLimits = {
  lock_timeout: lockMsMax,
  idle_in_transaction_session_timeout: idleInTransactionMs,
};

/**
 * A statement is planned when it is first made, often on tables that are empty yet, and that plan is kept until the server
 * has looked at them again: without this, every look-up by id would read a table that has grown since from end to end.
 * Nor may it collect what an index names before it looks: only a plain walk of the index forgets rows that are no more,
 * and leases leave many. No statement is worth compiling, nor planning anew for its values: a look-up has one way to go, and
 * finding that anew took as long as going it.
 */
const lookUps = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
};

/** The store's rules stand on these. */
const rules = {
  synchronous_commit: 'on',
  array_nulls: 'on',
  default_transaction_isolation: 'read committed',
  // What a policy would hide is refused instead: a row that nobody sees looks like one that is not there.
  row_security: 'off',
  // A commit that is on this server alone is said in a warning.
  client_min_messages: 'warning',
};

/**
 * A host that vanishes in the middle of a statement ends nothing by itself, and what it locked stays locked for as long as
 * the server believes in it: two hours by default. Looked after like this it is over after ten seconds. Of a pooler's own
 * connection they would say nothing of ours.
 */
const vanished = {
  tcp_keepalives_idle: '4',
  tcp_keepalives_interval: '2',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '10000',
};

/** As the address has them, for a session that a server makes. */
export const sessionOptions = Object.entries({ ...rules, ...lookUps, ...vanished })
  .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
  .join(' ');

/**
 * One statement for what a pooler dropped of all that, with the limit of a statement, which an address may not say otherwise.
 * A server or role with limits of its own keeps those. `$1`: the schema that is looked in first, whatever the search path has become;
 * null: as that says.
 */
export function askAgain(statementMs: number): string {
  const fixed = { ...rules, ...lookUps, statement_timeout: String(statementMs) };
  const set = Object.entries(fixed).map(([name, value]) => `set_config('${name}', '${value}', false)`);
  const limited = Object.entries(sessionLimits).map(
    ([name, ms]) =>
      `set_config('${name}', coalesce(nullif(current_setting('${name}'), '0'), '${ms}'), false)`,
  );
  return `SELECT ${[...set, ...limited, schemaFirst].join(', ')}`;
}

const schemaFirst = `set_config('search_path', concat_ws(', ', quote_ident($1), nullif(current_setting('search_path'), '')), false)`;

/** Whether the address named `options` of its own among those that a session was made with. */
export function namesOptions(options: string | undefined): boolean {
  return options !== undefined && options !== sessionOptions;
}

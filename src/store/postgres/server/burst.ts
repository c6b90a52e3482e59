/**
 * Statements of one transaction that are made in one turn, as one message to the server and one answer: pg would end each
 * with a Sync of its own, for which the server reads and writes once more. What follows a statement that failed is not
 * executed, up to the end of the burst (PostgreSQL, Frontend/Backend Protocol, Extended Query). The statements are prepared
 * by name, and what columns their rows have is asked for once a connection. Knows pg's own Query, and nothing of stores.
 */
import { type Client, Query, type QueryConfig } from 'pg';

/** Values stand for $1, $2, …, as the server reads them. */
interface Statement {
  name: string;
  text: string;
  values: (string | null)[];
  resolve(result: StatementResult): void;
  reject(error: unknown): void;
}

export interface StatementResult {
  /** As the server names it, such as `COMMIT`. */
  command: string;
  // biome-ignore lint/suspicious/noExplicitAny: a row is what its statement says; each verb reads it as such
  rows: Record<string, any>[];
  rowCount: number;
}

interface Column {
  name: string;
  parse: Parser;
}

/** What pg's own queries do with a connection. */
interface Wire {
  stream: { cork(): void; uncork(): void };
  parsedStatements: Record<string, string | undefined>;
  submittedNamedStatements: Record<string, string | undefined>;
  parse(statement: { name: string; text: string }): void;
  bind(statement: { statement: string; values: (string | null)[] }): void;
  describe(portal: { type: 'P' }): void;
  execute(portal: object): void;
  sync(): void;
}

interface Field {
  name: string;
  dataTypeID: number;
}

/** What a client calls of a query that it has sent. */
interface Sent {
  name: string;
  text: string;
  callback: (error: unknown) => void;
}

const PgQuery = Query as unknown as new (config: QueryConfig) => Sent;

/**
 * Each statement is settled with the end of all: those before the one that failed as done, the others with its error. What fails after
 * all of them is the commit of a transaction that nothing began: then none is done.
 */
class Burst extends PgQuery {
  #at = 0;
  #isOver = false;
  #fault: unknown = null;
  #columns: Column[] | null = null;
  readonly #results: StatementResult[] = [];
  #rows: StatementResult['rows'] = [];

  constructor(
    private readonly statements: Statement[],
    private readonly known: Map<string, Column[]>,
    private readonly parserOf: (type: number) => Parser,
    readonly query_timeout: number,
  ) {
    super({ text: '' });
    this.callback = (error) => this.#end(error);
    this.#begin();
  }

  submit(connection: Wire): null {
    connection.stream.cork();
    for (const { name, text, values } of this.statements) {
      if ((connection.parsedStatements[name] ?? connection.submittedNamedStatements[name]) === undefined) {
        connection.parse({ name, text });
        connection.submittedNamedStatements[name] = text;
      }
      connection.bind({ statement: name, values });
      if (!this.known.has(name)) connection.describe({ type: 'P' });
      connection.execute({});
    }
    connection.sync();
    connection.stream.uncork();
    return null;
  }

  handleRowDescription({ fields }: { fields: Field[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, parse: this.parserOf(dataTypeID) }));
    this.known.set(this.name, this.#columns);
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    try {
      this.#rows.push(rowOf(this.#columns!, fields));
    } catch (error) {
      this.#fault ??= error;
    }
  }

  handleCommandComplete({ text }: { text: string }): void {
    // `INSERT 0 5`, `UPDATE 5`, `COMMIT`
    const words = text.split(' ');
    if (this.#columns === null) this.known.set(this.name, []);
    if (this.#fault === null)
      this.#results.push({ command: words[0]!, rows: this.#rows, rowCount: Number(words.at(-1)) || 0 });
    this.#at += 1;
    this.#begin();
  }

  /** Its text is no statement, which no command's end tells. */
  handleEmptyQuery(): void {
    this.#fault ??= new Error('the server was asked nothing');
  }

  /** The server's answer to a statement, or that the connection is no more. */
  handleError(error: unknown, connection: Wire): void {
    for (const { name } of this.statements.slice(this.#at)) delete connection.submittedNamedStatements[name];
    this.callback(error);
  }

  handleReadyForQuery(): void {
    this.callback(this.#fault);
  }

  #begin(): void {
    const statement = this.statements[this.#at];
    this.#rows = [];
    if (statement === undefined) return;
    // As whose answer a client takes what comes.
    this.name = statement.name;
    this.text = statement.text;
    this.#columns = this.known.get(statement.name) ?? null;
  }

  #end(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const isUndone = error !== null && this.#at === this.statements.length;
    for (const [at, { resolve, reject }] of this.statements.entries()) {
      const result = this.#results[at];
      if (result === undefined || isUndone) reject(error);
      else resolve(result);
    }
  }
}

function rowOf(columns: Column[], fields: (string | null)[]): StatementResult['rows'][number] {
  const row: StatementResult['rows'][number] = {};
  for (let at = 0; at < fields.length; at += 1) {
    const text = fields[at]!;
    row[columns[at]!.name] = text === null ? null : columns[at]!.parse(text);
  }
  return row;
}

export type Value = string | number | boolean | null | readonly unknown[];

export type Parser = (text: string) => unknown;

export interface Line {
  /** Makes the statement with others of this turn. Rejects as the server answers, or when it has not within `withinMs`. */
  send(text: string, values: (string | null)[], withinMs: number): Promise<StatementResult>;
  /** Rejects what has not left yet: it never will. */
  drop(error: unknown): void;
}

/** Of one connection. A text is prepared on it by its name, once; `parserOf` a type of the server. */
export function makeLine(
  client: Client,
  nameOf: (text: string) => string,
  parserOf: (type: number) => Parser,
): Line {
  const known = new Map<string, Column[]>();
  let waiting: Statement[] = [];
  let withinMsMax = 0;

  function leave(): void {
    if (waiting.length === 0) return;
    const burst = new Burst(waiting, known, parserOf, withinMsMax);
    waiting = [];
    withinMsMax = 0;
    client.query(burst as never);
  }

  return {
    send: (text, values, withinMs) =>
      new Promise((resolve, reject) => {
        // After all that this turn does without waiting for anybody.
        if (waiting.length === 0) process.nextTick(leave);
        withinMsMax = Math.max(withinMsMax, withinMs);
        waiting.push({ name: nameOf(text), text, values, resolve, reject });
      }),
    drop(error) {
      for (const { reject } of waiting.splice(0)) reject(error);
    },
  };
}

/** Text as the server reads it; of a list the literal of an array (PostgreSQL, Array Input and Output Syntax). */
export function writtenValue(value: Value): string | null {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return null;
  return Array.isArray(value) ? writtenList(value) : String(value);
}

function writtenList(list: readonly unknown[]): string {
  let text = '{';
  for (let at = 0; at < list.length; at += 1) {
    if (at > 0) text += ',';
    text += writtenElement(list[at]);
  }
  return `${text}}`;
}

/** Characters that JSON would escape in a way of its own, beyond quotes and backslashes. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
const escapedByJson = /[\0-\x1f\ud800-\udfff]/;

/** In quotes, with a backslash before each quote and backslash: what JSON makes of most texts, several times as fast. */
function writtenElement(value: unknown): string {
  if (typeof value !== 'string') return value === null || value === undefined ? 'NULL' : String(value);
  if (!/["\\]/.test(value)) return `"${value}"`;
  return escapedByJson.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : JSON.stringify(value);
}

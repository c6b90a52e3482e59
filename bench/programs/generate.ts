// The generator, in its own process: posts deliveries as the provider does, over plain sockets, because a client library
// would cost as much as what is measured. Asked over its channel; each question is one burst or one paced run. Every
// answer but 204 is a fault of the bench. It holds the list of resources and makes bodies from it as it goes.
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import type { Answer, Question, Resource } from '../deliveries';

let resources: Resource[] = [];

process.on('message', (question: Question) => {
  answer(question).then(
    (answered) => process.send?.(answered),
    (error: Error) => process.send?.({ fault: error.stack ?? error.message }),
  );
});

async function answer(question: Question): Promise<Answer> {
  if ('load' in question) {
    resources = JSON.parse(readFileSync(question.load, 'utf8')) as Resource[];
    return { posted: 0, tookMs: 0, times: [] };
  }
  const lines = await Promise.all(
    Array.from({ length: question.connections }, () =>
      Connection.open(question.port, question.authorization),
    ),
  );
  try {
    return await ('perSecond' in question ? paced(question, lines) : burst(question, lines));
  } finally {
    for (const open of lines) open.close();
  }
}

/** As fast as the connections go, until so many deliveries are accepted or the time is over. */
async function burst(
  question: Extract<Question, { deliveries: number }>,
  lines: Connection[],
): Promise<Answer> {
  const { deliveries, elements, from, distinct, untilMs = Number.POSITIVE_INFINITY } = question;
  const startedAt = performance.now();
  let begun = 0;
  const work = async (open: Connection): Promise<void> => {
    while (begun < deliveries && performance.now() - startedAt < untilMs) {
      const first = begun * elements;
      begun += 1;
      await open.post(bodyOf(first, elements, from, distinct));
    }
  };
  await Promise.all(lines.map(work));
  return { posted: begun, tookMs: performance.now() - startedAt, times: [] };
}

/** One delivery of one element at each tick, whether those before were answered or not. */
async function paced(
  question: Extract<Question, { perSecond: number }>,
  lines: Connection[],
): Promise<Answer> {
  const { perSecond, seconds, from } = question;
  const count = perSecond * seconds;
  const times: Answer['times'] = [];
  const pending: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let index = 0; index < count; ) {
    const waitMs = startedAt + (index * 1000) / perSecond - performance.now();
    if (waitMs > 0) {
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      continue;
    }
    const open = lines[index % lines.length] as Connection;
    const postedAtMs = performance.timeOrigin + performance.now();
    const id = idOf(resources[from + index] as Resource);
    const accepted = open.post(bodyOf(index, 1, from, count)).then(() => {
      times.push({ id, postedAtMs, acceptedAtMs: performance.timeOrigin + performance.now() });
    });
    pending.push(accepted);
    index += 1;
  }
  await Promise.all(pending);
  return { posted: count, tookMs: performance.now() - startedAt, times };
}

/** Notifications go round and round over `distinct` resources of the list, beginning at `from`. */
function bodyOf(first: number, elements: number, from: number, distinct: number): string {
  const body = [];
  for (let index = first; index < first + elements; index += 1) {
    const [organizationId, address] = resources[from + (index % distinct)] as Resource;
    body.push({
      clientKey: 'bench',
      links: [],
      eventTypeId: 'equipment',
      targetResource: address,
      metadata: [{ key: 'orgId', value: organizationId }],
    });
  }
  return JSON.stringify(body);
}

function idOf([, address]: Resource): string {
  return address.slice(address.lastIndexOf('/') + 1);
}

/** One keep-alive connection with requests in order. An accepted delivery's answer has no body. */
class Connection {
  readonly #waiting: { resolve(): void; reject(error: Error): void }[] = [];
  #received = '';

  private constructor(
    private readonly socket: Socket,
    private readonly head: string,
  ) {
    socket.setNoDelay(true).setEncoding('latin1');
    socket.on('data', (text: string) => this.#take(text));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the connection was closed')));
  }

  static open(port: number, authorization: string): Promise<Connection> {
    const head =
      `POST /webhooks HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: ${authorization}\r\n` +
      'Content-Type: application/json\r\nContent-Length: ';
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(new Connection(socket, head)));
      socket.once('error', reject);
    });
  }

  post(body: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.socket.write(`${this.head}${Buffer.byteLength(body)}\r\n\r\n${body}`);
    });
  }

  close(): void {
    this.socket.removeAllListeners('close').destroy();
  }

  #take(text: string): void {
    this.#received += text;
    for (;;) {
      const end = this.#received.indexOf('\r\n\r\n');
      if (end < 0) return;
      const answered = this.#received.slice(0, end);
      this.#received = this.#received.slice(end + 4);
      if (answered.startsWith('HTTP/1.1 204 ')) this.#waiting.shift()?.resolve();
      else this.#fail(new Error(`answered ${answered.split('\r\n', 1)}`));
    }
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

/**
 * Kafka as a target: one client at a time, opened with a new epoch, given up without waiting. Every call is bounded by a
 * deadline of its own, since a mute broker answers nothing and refuses nothing. What is in here is the life of a client;
 * what it says to brokers is in producer.ts and kafka-cluster.ts.
 */
import { isProblem, Problem } from '../model/problem';
import type { Clock } from '../tools/clock';
import { describeError, idRefused, isOfCoordinator, kindOf, ofTransactionalId } from './classify-error';
import { type KafkaSettings, transactionalIdOf } from './client-config';
import type { KafkaCluster, ProducerEpoch, TakenEpoch } from './kafka-cluster';
import { heldBackMsMax, makeProducer, type Producer } from './producer';
import { type Reaching, reachCluster, rotate } from './reach-cluster';
import { readOn } from './read-topics';
import type { Batch, BrokerAddress, LeftUnread, PublishTarget, SendResult } from './target';
import { toldMsMin } from './throttle';

export interface KafkaTargetOptions {
  clock: Clock;
  /** Full names of the topics that will be sent to, so that their state is known before the first send. */
  topics: string[];
  /** Its producers share one transactional id, `<clientId>-<role>`: of the relay, or of another sender. */
  role: string;
  /** For a connection and its login; opening takes at most three times as long. */
  connectTimeoutMs: number;
  /** For one request to a broker. */
  requestTimeoutMs: number;
  /** For one send with its repetitions; the relay's lease is renewed meanwhile. */
  sendTimeoutMs: number;
  /** Waits before the repetitions inside one send. */
  repeatAfterMs: number[];
}

export const kafkaTargetDefaults = {
  role: 'relay-0',
  connectTimeoutMs: 3_000,
  requestTimeoutMs: 10_000,
  sendTimeoutMs: 15_000,
  repeatAfterMs: [100, 200, 400, 800],
};

const coordinatorPauseMs = 100;
/** Each time a coordinator writes what it gives out, and one of a cluster that was made anew may have hundreds to go. */
const hadPauseMs = 10;
const farewellMs = 1_000;

/** Nothing is connected before `open`. `open` throws `publish.refused` also when kafkajs is not 2.2.4. */
export function makeKafkaTarget(settings: KafkaSettings, options: KafkaTargetOptions): PublishTarget {
  return new KafkaTarget(settings, options);
}

class KafkaTarget implements PublishTarget {
  readonly name = 'kafka';
  private readonly topics: Set<string>;
  /** The one client there is, connected or connecting. */
  private reaching: Reaching | null = null;
  private cluster: KafkaCluster | null = null;
  private producer: Producer | null = null;
  private epochForgottenAfterMs: number | null = null;
  /** The last that was taken here. */
  private lastEpoch: ProducerEpoch | null = null;
  private heardHeldBack: (forMs: number) => void = () => {};
  private opened = 0;
  private closed = false;
  /** Of what is waited for now. */
  private readonly waits = new Set<AbortController>();
  private readonly transactionalId: string;

  constructor(
    private readonly settings: KafkaSettings,
    private readonly options: KafkaTargetOptions,
  ) {
    this.topics = new Set(options.topics);
    this.transactionalId = transactionalIdOf(settings, options.role);
  }

  async open(): Promise<void> {
    await this.discard();
    if (this.closed) throw new Problem('publish.unavailable', closedText);
    const { clock, connectTimeoutMs, repeatAfterMs } = this.options;
    // Another one first each time: who answers the first question may be mute to the next.
    const brokers = rotate(this.settings.brokers, this.opened);
    this.opened += 1;
    const heldBack = (forMs: number) => {
      if (forMs >= toldMsMin) this.heardHeldBack(Math.min(forMs, heldBackMsMax));
    };
    const reaching = reachCluster({ ...this.settings, brokers }, { ...this.options, heldBack });
    this.reaching = reaching;
    const heard: Heard = { fault: null };
    try {
      const taken = await this.within(3 * connectTimeoutMs, this.introduce(reaching, heard));
      if (this.closed) throw new Problem('publish.unavailable', closedText);
      if (taken === late) throw new Problem('publish.unavailable', unheardText(heard, brokers));
      const { cluster, epoch } = taken;
      this.cluster = cluster;
      this.epochForgottenAfterMs = epoch.forgottenAfterMs;
      this.producer = makeProducer(cluster, epoch, { repeatAfterMs, wait: clock.wait });
    } catch (error) {
      await this.discard();
      if (error instanceof Problem) throw error;
      const { code, detail } = describeError(error);
      const problem = kindOf(code) === 'denied' ? 'publish.refused' : 'publish.unavailable';
      const said = code === idRefused ? ofTransactionalId(code, this.transactionalId, 0) : detail;
      const where = said.includes(' at ') ? '' : ` at ${brokers.join(', ')}`;
      throw new Problem(problem, `Kafka cannot be used: ${said}${where}`, error);
    }
  }

  onHeldBack(heard: (forMs: number) => void): void {
    this.heardHeldBack = heard;
  }

  forgottenAfterMs(): number | null {
    return this.epochForgottenAfterMs;
  }

  async partitionsOf(topic: string): Promise<number> {
    const { cluster } = this.theClient();
    this.topics.add(topic);
    const learned = isHealthy(cluster, topic) ? cluster.refreshIfOld() : cluster.learn([topic]);
    // Where this fails or hangs, what was known before holds, and `send` says what is wrong.
    await this.within(this.options.connectTimeoutMs, learned).catch(() => late);
    return Math.max(1, cluster.topicState(topic)?.partitions.length ?? 0);
  }

  leaderOf({ topic, partition }: Pick<Batch, 'topic' | 'partition'>): BrokerAddress | null {
    const leader = this.cluster?.topicState(topic)?.partitions[partition]?.leader;
    return leader === undefined ? null : this.cluster!.addressOf(leader);
  }

  async send(batches: Batch[]): Promise<SendResult> {
    const { ended, result } = this.theClient().producer.send(batches);
    const inTime = (await this.within(this.options.sendTimeoutMs, ended)) !== late;
    return inTime ? result() : { ...result(), spent: true };
  }

  async readOn(...[known, heard, isWanted]: Parameters<PublishTarget['readOn']>): Promise<LeftUnread | null> {
    const { cluster } = this.theClient();
    try {
      return await readOn(cluster, this.options.topics, known, heard, isWanted);
    } catch (error) {
      // Who is asked next time is not to be the one that failed. What the store throws says nothing of it.
      const { connectTimeoutMs } = this.options;
      if (!isProblem(error)) await this.within(connectTimeoutMs, cluster.refresh()).catch(() => late);
      throw error;
    }
  }

  async discard(): Promise<void> {
    this.reaching?.destroy();
    this.reaching = null;
    this.cluster = null;
    this.producer = null;
  }

  async close(): Promise<void> {
    this.closed = true;
    // Only a client at rest can take its leave; any other is cut off.
    if (this.waits.size > 0) for (const over of this.waits) over.abort('over');
    else if (this.cluster !== null && this.producer !== null) {
      await this.within(farewellMs, this.cluster.end()).catch(() => late);
    }
    await this.discard();
  }

  /** Connects, learns the topics, takes the epoch. Whoever waits for it bounds it, and ends it by destroying the client. */
  private async introduce(
    reaching: Reaching,
    heard: Heard,
  ): Promise<{ cluster: KafkaCluster; epoch: TakenEpoch }> {
    const cluster = await reaching.connect();
    await cluster.learn([...this.topics]);
    for (;;) {
      let pauseMs = hadPauseMs;
      try {
        const epoch = await this.takeEpoch(cluster, heard);
        if (this.isNew(epoch)) return { cluster, epoch };
        heard.fault = hadBefore(this.transactionalId);
      } catch (error) {
        const { code } = describeError(error);
        if (!isOfCoordinator(code)) throw error;
        heard.fault = ofTransactionalId(code, this.transactionalId, cluster.brokerCount());
        pauseMs = coordinatorPauseMs;
      }
      await this.options.clock.wait(pauseMs);
    }
  }

  /**
   * From whoever gives it out. One that hangs is left once another broker says that somebody else does; one that is slow, and
   * does still, is waited for.
   */
  private async takeEpoch(cluster: KafkaCluster, heard: Heard): Promise<TakenEpoch> {
    const patienceMs = this.options.connectTimeoutMs / 3;
    for (let node = await cluster.coordinatorOf(this.transactionalId); ; ) {
      const asked = node;
      const taking = cluster.takeEpoch(this.transactionalId, asked);
      while (node === asked) {
        const taken = await this.within(patienceMs, taking);
        if (taken !== late) return taken;
        heard.fault = null;
        const naming = cluster.coordinatorOf(this.transactionalId, asked);
        const named = await this.within(patienceMs, naming).catch(() => late);
        if (typeof named === 'number') node = named;
      }
    }
  }

  /**
   * A coordinator that lost its newest records gives out again what was taken. A broker takes what is numbered anew under that for
   * a repetition of what it has: it answers that it was written, and it is not there.
   */
  private isNew({ producerId, producerEpoch }: ProducerEpoch): boolean {
    const { lastEpoch } = this;
    if (lastEpoch?.producerId === producerId && producerEpoch <= lastEpoch.producerEpoch) return false;
    this.lastEpoch = { producerId, producerEpoch };
    return true;
  }

  private theClient() {
    const { cluster, producer } = this;
    if (cluster !== null && producer !== null) return { cluster, producer };
    throw new Problem('publish.unavailable', 'the Kafka client is not open');
  }

  /** What `work` answers or throws, or `late` after so many milliseconds or when this ends; what it does later is nobody's. */
  private async within<T>(ms: number, work: Promise<T>): Promise<T | typeof late> {
    const over = new AbortController();
    this.waits.add(over);
    work.catch(() => {});
    try {
      return await Promise.race([
        work,
        this.options.clock.wait(ms, over.signal).then((): typeof late => late),
      ]);
    } finally {
      this.waits.delete(over);
      over.abort('over');
    }
  }
}

/** What the cluster said last of who gives out the epoch; null where it says nothing. */
interface Heard {
  fault: string | null;
}

function hadBefore(transactionalId: string): string {
  return `the epoch that is given out for the transactional id ${transactionalId} was taken before: the brokers lost newer ones`;
}

function unheardText({ fault }: Heard, brokers: string[]): string {
  if (fault === null) return `Kafka gave no answer at ${brokers.join(', ')}`;
  return `Kafka cannot be used at ${brokers.join(', ')}: ${fault}`;
}

const late = Symbol('late');
const closedText = 'the Kafka client is closed';

function isHealthy(cluster: KafkaCluster, topic: string): boolean {
  const state = cluster.topicState(topic);
  return state !== null && state.code === null && state.partitions.every(({ leader }) => leader >= 0);
}

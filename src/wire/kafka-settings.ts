/**
 * The Kafka that the settings name, and how it is reached. Its certificates and key are what their files say when a
 * connection is made.
 */
import { readFilesAnew, type Settings } from '../config';
import type { Trouble } from '../observe/lines';
import type { KafkaSettings, TlsTexts } from '../publish/client-config';
import { makeTlsFiles } from '../publish/tls-files';
import { type Clock, systemClock } from '../tools/clock';

/**
 * null: no broker is named, events go to the embedded log. One for each process: where files do not fit, all its clients go
 * on with what was used last. `told` hears of that.
 */
export function kafkaSettings(
  settings: Settings,
  told: (trouble: Trouble) => void = () => {},
  clock: Pick<Clock, 'steadyMs'> = systemClock,
): KafkaSettings | null {
  if (settings.kafkaBrokers === null) return null;
  const {
    kafkaSaslMechanism: mechanism,
    kafkaSaslUsername: username,
    kafkaSaslPassword: password,
  } = settings;
  const doors = {
    read: () => textsOf(readFilesAnew(settings)),
    unfit: (reason: string) => told(unfit(reason)),
    clock,
  };
  return {
    brokers: [...settings.kafkaBrokers],
    clientId: settings.kafkaClientId,
    tls: settings.kafkaTls ? makeTlsFiles(textsOf(settings), doors) : null,
    sasl:
      mechanism === null || username === null || password === null ? null : { mechanism, username, password },
  };
}

function textsOf({ kafkaCa: ca, kafkaCert: cert, kafkaKey: key }: Settings): TlsTexts {
  return { ca, cert, key };
}

function unfit(reason: string): Trouble {
  const detail = `New connections go on with the former certificates and key, until those run out: ${reason}`;
  return { place: 'kafka', code: 'publish.files-unfit', detail };
}

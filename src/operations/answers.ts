/**
 * Every way in which a request of the operations listener is not answered with what it asked for: problem documents
 * (RFC 9457) with stable codes. Details are sentences of ours; nothing of the request is repeated beyond an id.
 */
import type { Response } from 'express';
import { isProblem, type ProblemCode } from '../model/problem';

export const answers = {
  'operations.parameter': { status: 400, title: 'A parameter is not accepted.' },
  'operations.bad-request': { status: 400, title: 'The request is malformed.' },
  'operations.unauthenticated': { status: 401, title: 'A bearer token is needed.' },
  'operations.forbidden': { status: 403, title: 'Without a token this is answered on this machine only.' },
  'operations.not-found': { status: 404, title: 'There is no such thing.' },
  'operations.method': { status: 405, title: 'The method is not allowed here.' },
  'operations.slow': { status: 408, title: 'The request did not arrive in time.' },
  'operations.action-required': { status: 409, title: 'A customer must act at the provider first.' },
  'operations.settings': { status: 409, title: 'A setting that this needs is missing.' },
  'operations.refused': { status: 409, title: 'Its state forbids this.' },
  'operations.expired': { status: 410, title: 'This is no longer kept.' },
  'operations.expectation': { status: 417, title: 'This expectation is not met here.' },
  'operations.headers-too-large': { status: 431, title: 'The headers are too large.' },
  'operations.fault': { status: 500, title: 'Something went wrong here.' },
  'operations.provider-malformed': { status: 502, title: 'What the provider sent cannot be read.' },
  'operations.provider-refused': { status: 502, title: 'The provider refuses this.' },
  'operations.kafka-refused': { status: 502, title: 'Kafka refuses this.' },
  'operations.kafka-unavailable': {
    status: 503,
    title: 'Kafka does not answer now.',
    retryAfterSeconds: 5,
  },
  'operations.provider-unavailable': { status: 503, title: 'The provider does not answer now.' },
  'operations.stopping': {
    status: 503,
    title:
      'The process at this address is stopping: ask again once it has started anew, or set TRAMLINE_URL to another one.',
  },
  'operations.unavailable': {
    status: 503,
    title: 'The store cannot read or write what this takes now: `tramline check` says what to look at.',
  },
} as const satisfies Record<string, Answer>;

interface Answer {
  status: number;
  title: string;
  /** How long who asked may wait, where something that is away is asked anew each time. */
  retryAfterSeconds?: number;
}

export type AnswerCode = keyof typeof answers;

const codeOfProblem: Partial<Record<ProblemCode, AnswerCode>> = {
  'settings.invalid': 'operations.settings',
  'command.usage': 'operations.parameter',
  'command.not-found': 'operations.not-found',
  'command.refused': 'operations.refused',
  'command.expired': 'operations.expired',
  'store.unavailable': 'operations.unavailable',
  'store.closed': 'operations.stopping',
  'publish.unavailable': 'operations.kafka-unavailable',
  'publish.refused': 'operations.kafka-refused',
  'provider.unavailable': 'operations.provider-unavailable',
  'provider.malformed': 'operations.provider-malformed',
  'provider.refused': 'operations.provider-refused',
  'provider.action-required': 'operations.action-required',
};

export function refuse(response: Response, code: AnswerCode, detail?: string): void {
  const { status, title, retryAfterSeconds }: Answer = answers[code];
  if (retryAfterSeconds !== undefined) response.set('retry-after', String(retryAfterSeconds));
  response
    .status(status)
    .type('application/problem+json')
    .send(
      JSON.stringify({
        type: 'about:blank',
        title,
        status,
        code,
        ...(detail === undefined ? {} : { detail }),
      }),
    );
}

/** Why something does not answer is for the log; what a parameter or id has wrong is for the asker. */
const untold: AnswerCode[] = ['operations.unavailable', 'operations.stopping'];

/** Answers what was thrown; a fault of our own is told to `fault` and its text to nobody else. */
export function refuseError(response: Response, error: unknown, fault: (error: unknown) => void): void {
  const code = isProblem(error) ? codeOfProblem[error.code] : undefined;
  if (code !== undefined) {
    refuse(response, code, untold.includes(code) ? undefined : (error as Error).message);
  } else if ([400, 413, 415].includes((error as { status?: number }).status ?? 0)) {
    // Express marks so what it could not decode in a path, or read as a body.
    refuse(response, 'operations.bad-request');
  } else {
    fault(error);
    refuse(response, 'operations.fault');
  }
}

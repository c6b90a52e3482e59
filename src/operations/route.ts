/**
 * What a route of the API is: method, path, and what answers. Types only; the table is next door.
 */
import type { Api } from '../model/api';

export interface Asked {
  /** The `{id}` of the path, decoded; '' where it has none. */
  id: string;
  /** The query without its `?`. */
  search: string;
}

export interface Route {
  method: 'get' | 'post';
  /** As Express has it. */
  path: string;
  summary: string;
  /** A value, or a `Streamed`. */
  answer(api: Api, asked: Asked): Promise<unknown>;
}

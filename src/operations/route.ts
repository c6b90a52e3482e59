/**
 * What a route of the API is: method, path, and what answers. Types only; the table is next door.
 */
import type { Api } from '../model/api';

export interface Asked {
  /** The `{id}` of the path, decoded; '' where it has none. */
  id: string;
  /** The query without its `?`. */
  search: string;
  /** What was sent, parsed, where the route takes a body; else undefined. */
  body: unknown;
}

export interface Route {
  method: 'get' | 'post' | 'delete';
  /** As Express has it. */
  path: string;
  summary: string;
  /** Takes a JSON body: what must stand in no address. */
  takesBody?: true;
  /** A value, or a `Streamed`. */
  answer(api: Api, asked: Asked): Promise<unknown>;
}

// One field and its boundary, made from the seed and the field's number within the world.
// Promises a closed ring of realistic size (60 to 400 points around the field's area). Links are added elsewhere.
import type { JsonObject } from '../json';
import { randomFor, round, uuidFor } from './random';
import { FIELD_FIRST, FIELD_SECOND } from './vocabulary';

export const FIELD_SALT = 21;
const BOUNDARY_SALT = 22;
const METRES_PER_DEGREE = 111_320;

/** Hectares; field operations of the field cover about this area. */
export function fieldHectares(seed: number, index: number): number {
  return randomFor(seed, 5, index).decimal(4, 130, 2);
}

export function fieldContent(seed: number, index: number): JsonObject {
  const random = randomFor(seed, 6, index);
  return {
    '@type': 'Field',
    id: uuidFor(seed, FIELD_SALT, index),
    name: `${random.pick(FIELD_FIRST)} ${random.pick(FIELD_SECOND)} ${(index % 90) + 1}`,
    archived: false,
    lastModifiedTime: '2025-02-11T08:00:00.000Z',
  };
}

/** The active boundary of a field as one multipolygon with one exterior ring. */
export function boundaryContent(seed: number, index: number): JsonObject {
  const random = randomFor(seed, 7, index);
  const hectares = fieldHectares(seed, index);
  const centre = { lat: random.decimal(38, 47, 6), lon: random.decimal(-98, -86, 6) };
  const radiusMetres = Math.sqrt((hectares * 10_000) / Math.PI);
  const count = random.integer(60, 400);
  const points = Array.from({ length: count }, (_, at) => {
    const angle = (2 * Math.PI * at) / count;
    const metres = radiusMetres * (0.97 + random.next() * 0.06);
    const lat = centre.lat + (metres * Math.sin(angle)) / METRES_PER_DEGREE;
    const lon =
      centre.lon + (metres * Math.cos(angle)) / (METRES_PER_DEGREE * Math.cos((centre.lat * Math.PI) / 180));
    return { '@type': 'Point', lat: round(lat, 7), lon: round(lon, 7) };
  });
  return {
    '@type': 'Boundary',
    id: uuidFor(seed, BOUNDARY_SALT, index),
    name: 'Boundary 2025',
    sourceType: 'External',
    area: { '@type': 'MeasurementAsDouble', valueAsDouble: hectares, unit: 'ha' },
    active: true,
    archived: false,
    irrigated: false,
    multipolygons: [
      {
        '@type': 'Polygon',
        rings: [{ '@type': 'Ring', points: [...points, points[0]!], type: 'exterior', passable: true }],
      },
    ],
    extent: {
      '@type': 'Extent',
      topLeft: {
        '@type': 'Point',
        lat: Math.max(...points.map((p) => p.lat)),
        lon: Math.min(...points.map((p) => p.lon)),
      },
      bottomRight: {
        '@type': 'Point',
        lat: Math.min(...points.map((p) => p.lat)),
        lon: Math.max(...points.map((p) => p.lon)),
      },
    },
  };
}

/**
 * Faults by pointer, and schema files that come out the same each time.
 */
import { z } from 'zod';
import { pointerStep, schemaFaultOf, writeJsonSchema } from '../../../src/tools/schema';

const part = z.object({ size: z.number() }).meta({ id: 'part' });
const thing = z
  .object({ name: z.string().describe('What it is called.'), left: part.nullish(), right: part.nullish() })
  .meta({ title: 'Thing', description: 'One of many.' });

test('the first fault is named by its pointer', () => {
  expect(schemaFaultOf(thing, { name: 'a', left: { size: 1 } })).toBeNull();
  expect(schemaFaultOf(thing, { name: 'a', left: { size: '1' } })).toMatchObject({ path: '/left/size' });
  expect(schemaFaultOf(thing, 5)).toMatchObject({ path: '' });
  expect(schemaFaultOf(z.record(z.string(), z.number()), { 'a/b~c': 'x' })?.path).toBe('/a~1b~0c');
});

test('a step of a pointer is escaped and bounded', () => {
  expect(pointerStep('a/b~c')).toBe('a~1b~0c');
  expect(pointerStep('x'.repeat(100))).toHaveLength(64);
});

test('a schema file has its address first, definitions by name, short lists on one line', () => {
  expect(writeJsonSchema(thing, 'https://schemas.example/thing.v1')).toBe(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "https://schemas.example/thing.v1",
  "title": "Thing",
  "description": "One of many.",
  "type": "object",
  "properties": {
    "name": {
      "type": "string",
      "description": "What it is called."
    },
    "left": {
      "anyOf": [
        {
          "$ref": "#/$defs/part"
        },
        {
          "type": "null"
        }
      ]
    },
    "right": {
      "anyOf": [
        {
          "$ref": "#/$defs/part"
        },
        {
          "type": "null"
        }
      ]
    }
  },
  "required": ["name"],
  "$defs": {
    "part": {
      "type": "object",
      "properties": {
        "size": {
          "type": "number"
        }
      },
      "required": ["size"]
    }
  }
}
`);
});

test('a list that is too long for a line stands on several', () => {
  const names = Array.from({ length: 20 }, (_, index) => `alternative-${index}`);
  const lines = writeJsonSchema(z.enum(names), 'https://schemas.example/long.v1').split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(110);
  expect(lines).toContain('    "alternative-19"');
});

test('the same schema gives the same text, and an empty one an empty object', () => {
  expect(writeJsonSchema(thing, 'x')).toBe(writeJsonSchema(thing, 'x'));
  expect(writeJsonSchema(z.object({ any: z.unknown() }), 'x')).toContain('"any": {}');
});

test('what JSON cannot say is an error', () => {
  expect(() => writeJsonSchema(z.object({ at: z.date() }), 'x')).toThrow();
});

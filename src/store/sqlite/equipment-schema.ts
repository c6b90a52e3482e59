/**
 * The table of what records of equipment are called by, as steps of the schema: how it was made first, and how its rows
 * came to stand in the order in which they are added.
 */
export const equipment = `
-- What records of equipment are called by, and as what the piece is known that each is a record of.
CREATE TABLE equipment (
  side TEXT NOT NULL,
  id TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  principal_id TEXT,
  erid TEXT,
  serial_number TEXT,
  resource_id TEXT NOT NULL,
  PRIMARY KEY (id, side, organization_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX equipment_principal ON equipment (principal_id);
CREATE INDEX equipment_erid ON equipment (erid);
CREATE INDEX equipment_resource ON equipment (resource_id);
`;

/** What an index adds for each row is then a number; before, it was the key again, and rows were sorted by it. */
export const equipmentRows = `
ALTER TABLE equipment RENAME TO equipment_by_key;
CREATE TABLE equipment (
  side TEXT NOT NULL,
  id TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  principal_id TEXT,
  erid TEXT,
  serial_number TEXT,
  resource_id TEXT NOT NULL,
  UNIQUE (id, side, organization_id)
) STRICT;
INSERT INTO equipment (side, id, organization_id, principal_id, erid, serial_number, resource_id)
  SELECT side, id, organization_id, principal_id, erid, serial_number, resource_id FROM equipment_by_key;
DROP TABLE equipment_by_key;
CREATE INDEX equipment_principal ON equipment (principal_id);
CREATE INDEX equipment_erid ON equipment (erid);
CREATE INDEX equipment_resource ON equipment (resource_id);
`;

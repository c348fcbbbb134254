import { createHash } from 'node:crypto'
import {
  addDigest,
  createRowDigest,
  definitionDigest,
  encodeWkb,
  noRows,
  RESERVED_COLUMNS,
  sumHex,
} from './sources.mjs'

/*
 * Rows of a simulated gateway are a function of the gateway and the change number: they are made when they are sent
 * and when they are compared, and held nowhere. Each sixteenth change overrides the row of three changes before.
 */

const CYCLE = 16
const OVERRIDDEN_AT = 12
const OVERRIDES_AT = 15
const DAY_US = 86_400_000_000

const INT4 = { udt_name: 'int4', column_default: null, length: null, srid: null }

/** Table that all gateways send. */
export function definitionOf(name) {
  return {
    data_name: name,
    schema: 'event',
    columns: [
      { name: 'k', ...INT4, is_nullable: false },
      { name: 'speed', ...INT4, is_nullable: true },
    ],
    unique_columns: ['k'],
  }
}

export const digestOfDefinition = definitionDigest(definitionOf(''))

const COLUMNS = [
  ...RESERVED_COLUMNS,
  ...definitionOf('').columns.map(({ name, is_nullable }) => ({
    ...{ name, udtName: 'int4', isNullable: is_nullable, columnDefault: null },
    ...{ length: null, srid: null, isEncrypted: false, file: null },
  })),
]
export const SLOTS = COLUMNS.map((column, slot) => ({ column, slot }))
const digestOfRow = createRowDigest(COLUMNS)

/** Number from 0 to below 1 that belongs to a seed and some words. */
export function drawn(...words) {
  return createHash('sha256').update(words.join(' ')).digest().readUInt32LE(0) / 2 ** 32
}

/** Place around which a gateway moves: longitude and latitude. */
export function placeOf(seed, index) {
  return [round(138 + 4 * drawn(seed, index, 'lng')), round(34.5 + 2.5 * drawn(seed, index, 'lat'))]
}

/** True for a change whose row has a later one. @param made last change of the table */
function isOverridden(change, made) {
  return change % CYCLE === OVERRIDDEN_AT && change + OVERRIDES_AT - OVERRIDDEN_AT <= made
}

/** Columns of a row of the gateway `place`, as readers see them. */
export function rowOf({ place: [lng, lat], originUs }, change) {
  const isOverride = change % CYCLE === OVERRIDES_AT
  return {
    k: isOverride ? change - OVERRIDES_AT + OVERRIDDEN_AT : change,
    speed: (change * 7) % 131,
    point: [round(lng + (change % 1000) * 1e-5), round(lat + (change % 777) * 1e-5)],
    startUs: originUs + change * 1_000_000,
  }
}

/**
 * Rows of the changes after `after` up to `last`, as a gateway reads them from its table.
 *
 * @param made last change of the table
 */
export function* changedRows(gateway, { after, last, made }) {
  const day = Math.floor(gateway.originUs / DAY_US)
  for (let change = after + 1; change <= last; change++) {
    if (isOverridden(change, made)) continue
    const { k, speed, point, startUs } = rowOf(gateway, change)
    const wkb = encodeWkb({ type: 'Point', coordinates: point })
    const values = [BigInt(startUs), null, wkb, k, speed]
    yield { change, origin: '', day, version: change, sender: '', values }
  }
}

/** Number of rows, and their sum as `sync.verify` compares it, of a gateway whose hub has all up to `last`. */
export function sumOf(gateway, last) {
  const sum = noRows()
  for (const { values } of changedRows(gateway, { after: 0, last, made: last }))
    addDigest(sum, digestOfRow(values))
  return { day: Math.floor(gateway.originUs / DAY_US), rows: sum.rows, digest: sumHex(sum) }
}

/** 1e-6 degree, as receivers of satellites give it. */
function round(degrees) {
  return Math.round(degrees * 1e6) / 1e6
}

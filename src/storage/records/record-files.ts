import { describeFound } from '../../messages/fault-text.js'
import { isFault, type Stored } from '../columns/column-type.js'
import { typeOf } from '../columns/column-types.js'
import type { Column, FileColumns } from '../tables.js'
import type { RecordFault, RecordPlan } from './record-plan.js'

/** A file of a record: new bytes, or the place of a stored file of this table. */
export type FilePart = { slot: number } & ({ bytes: Uint8Array } | { pathId: string; name: string })

/** The only valid prefix id. */
export const PREFIX_ID = 1

const MAX_PATH_CHARS = 1024

/**
 * Sets the companion columns of each file of a record: prefix id 1, the path id (given, or the folder of the
 * relative path, or a new one) and the name (given, or the last part of the relative path). A relative path
 * without bytes refers to a stored file of this table.
 */
export function fillFileColumns(
  plan: RecordPlan,
  values: (Stored | undefined)[],
  relativePaths: ReadonlyMap<string, unknown>,
): FilePart[] | RecordFault {
  const parts: FilePart[] = []
  for (const slot of plan.fileSlots) {
    const file = plan.table.columns[slot]?.file as FileColumns
    const path = readRelativePath(file, relativePaths.get(file.relativePathProperty))
    if ('reason' in path) return path
    const bytes = values[slot]
    const hasBytes = bytes instanceof Uint8Array
    const isLink = bytes === undefined && path.name !== undefined
    if (!hasBytes && !isLink) continue
    const fault =
      fill(plan, values, file.prefixIdColumn, PREFIX_ID) ??
      fill(plan, values, file.pathIdColumn, path.folder ?? plan.env.newPathId()) ??
      (path.name === undefined ? undefined : fill(plan, values, file.nameColumn, path.name))
    if (fault !== undefined) return fault
    const prefixId = values[plan.slotOf.get(file.prefixIdColumn) as number]
    if (Number(prefixId) !== PREFIX_ID)
      return { column: file.prefixIdColumn, reason: `found ${prefixId}, expected ${PREFIX_ID}` }
    const name = values[plan.slotOf.get(file.nameColumn) as number]
    if (typeof name !== 'string')
      return { column: file.nameColumn, reason: "found nothing, expected the file's name" }
    if (hasBytes) parts.push({ slot, bytes })
    else parts.push({ slot, pathId: String(values[plan.slotOf.get(file.pathIdColumn) as number]), name })
  }
  return parts
}

/** Sets a column that is missing or null in the record. */
function fill(
  plan: RecordPlan,
  values: (Stored | undefined)[],
  name: string,
  json: string | number,
): RecordFault | undefined {
  const slot = plan.slotOf.get(name) as number
  if (values[slot] !== undefined && values[slot] !== null) return undefined
  const column = plan.table.columns[slot] as Column
  const value = typeOf(column.udtName).read(json, column, plan.env)
  if (isFault(value)) return { column: name, reason: `found ${value.found}, expected ${value.expected}` }
  values[slot] = value
  return undefined
}

/** Checks a relative path. The gateway opens no file by it; programs that export files by it must be safe. */
function readRelativePath(
  file: FileColumns,
  json: unknown,
): { folder?: string; name?: string } | RecordFault {
  if (json === undefined || json === null) return {}
  const segments = typeof json === 'string' ? json.split('/') : []
  const isValid =
    typeof json === 'string' &&
    json.length <= MAX_PATH_CHARS &&
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are refused
    segments.every((part) => part !== '' && part !== '.' && part !== '..' && !/[\\\u0000-\u001f]/.test(part))
  if (!isValid) {
    const expected = 'a relative path like folder/name without . or .. or empty parts'
    return { column: file.relativePathProperty, reason: `found ${describeFound(json)}, expected ${expected}` }
  }
  const name = segments.at(-1) as string
  const folder = segments.slice(0, -1).join('/')
  return folder === '' ? { name } : { folder, name }
}

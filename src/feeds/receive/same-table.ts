import { AppError } from '../../errors.js'
import type { LoaderTable, TableDefinition } from '../../storage/tables.js'
import { differences, type SentDefinition, sentDefinition, whyNotSendable } from '../batch/definition.js'

/** Register of the tables of other nodes. */
export interface Registering {
  findTable(name: string): Promise<LoaderTable | undefined>
  register(definition: TableDefinition): Promise<LoaderTable>
  /** @throws AppError DISK_FULL */
  requireSpace(bytes: number): Promise<void>
}

/** Registers a table; two offers of one name at the same time are one table. */
export async function registerOnce(deps: Registering, definition: TableDefinition): Promise<LoaderTable> {
  await deps.requireSpace(0)
  try {
    return await deps.register(definition)
  } catch (error) {
    const table = await deps.findTable(definition.dataName)
    if (table === undefined) throw error
    return table
  }
}

/**
 * Requires that a table has the columns of another node's definition. Its message is read at both nodes, so that it
 * says sender and receiver, not here and there.
 *
 * @throws AppError TABLE_DIFFERS
 */
export function requireSame(table: LoaderTable, offered: SentDefinition): void {
  const kept = table.columns.flatMap((column) => {
    const why = whyNotSendable(column)
    return why === undefined ? [] : [{ column: column.name, here: `a column that ${why}`, there: 'none' }]
  })
  const found = kept.length > 0 ? kept : differences(sentDefinition(table, null), offered)
  const [first] = found
  if (first === undefined) return
  const shown = found.map(
    ({ column, here, there }) => `${column} (the sender has ${there}, the receiver ${here})`,
  )
  const more = shown.length > 3 ? ` and ${shown.length - 3} more` : ''
  const message = `The table ${table.dataName} differs in ${shown.slice(0, 3).join(', ')}${more}`
  throw new AppError(
    'TABLE_DIFFERS',
    { data_name: table.dataName, columns: found.slice(0, 100) },
    { message },
  )
}

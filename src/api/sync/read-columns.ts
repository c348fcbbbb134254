import { AppError, invalidParams } from '../../errors.js'
import type { SentDefinition } from '../../feeds/batch/definition.js'
import { pathText } from '../../rpc/define-method.js'
import type { TableDefinition } from '../../storage/tables.js'
import { readDefinition } from '../../tables/record-def.js'

/**
 * Checks the definition of another node's table as that of `register_loader` is.
 *
 * @throws AppError INVALID_PARAMS, TABLE_NOT_SENDABLE
 */
export function readColumns({ data_name, schema, columns, unique_columns }: SentDefinition): TableDefinition {
  const file = columns.find(({ udt_name }) => udt_name === 'file')
  if (file !== undefined) {
    const message = `The column ${file.name} holds files, which feeds do not carry`
    throw new AppError('TABLE_NOT_SENDABLE', { column: file.name }, { message })
  }
  const defs = new Map(columns.map(({ name, ...def }) => [name, { ...def, need_crypto: false }]))
  const read = readDefinition(
    { data_name, schema, unique_columns, record_def: Object.fromEntries(defs) },
    (json) => ({ def: json as NonNullable<ReturnType<typeof defs.get>> }), // the schema has checked it
  )
  if ('faults' in read)
    throw invalidParams(
      read.faults.map(({ path, message }) => ({ path: pathText(['definition', ...path]), message })),
    )
  return { dataName: data_name, schema, columns: read.columns, uniqueColumns: unique_columns }
}

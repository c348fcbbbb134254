import type { LoaderMethods } from '../../clients/typescript/methods/loader.js'

/** Definition of one column, as `register_loader` takes it. */
type ColumnDefinition = LoaderMethods['loaderwebapi.register_loader']['params']['record_def'][string]

/** Column types that the form for a new table offers; the API accepts more. */
export const COLUMN_TYPES = [
  'varchar',
  'text',
  'int4',
  'int8',
  'int2',
  'float8',
  'bool',
  'timestamptz',
  'date',
] as const satisfies readonly ColumnDefinition['udt_name'][]

/** Length of a varchar column that the form creates, in characters. */
const VARCHAR_LENGTH = 200

/**
 * Returns the definition of a column for `register_loader`.
 *
 * @param typeName one of `COLUMN_TYPES`; any other counts as the first of them
 */
export function definitionOf(typeName: string, isNullable: boolean): ColumnDefinition {
  const type = COLUMN_TYPES.find((each) => each === typeName) ?? COLUMN_TYPES[0]
  return {
    udt_name: type,
    is_nullable: isNullable,
    ...(type === 'varchar' ? { length: VARCHAR_LENGTH } : {}),
  }
}

import type { UdtName } from '../storage/columns/column-types.js'

/** Form of the names of tables, schemas and columns. */
export const NAME = /^(?!\.{1,2}$)[\p{L}\p{M}\p{Nd}_.-]{1,63}$/u
/** The form in words, for error messages. */
export const NAME_RULE = '1 to 63 letters, digits or any of _ - . (not . or .. alone)'

/** Longest length of text that a definition may allow, characters: PostgreSQL's limit of `varchar`. */
export const MAX_TEXT_LENGTH = 10_485_760
/** Longest length of bytes that a definition may allow. */
export const MAX_BYTE_LENGTH = 1_000_000_000

/**
 * Definition of one column, with the member names of the contract's `record_def`, because faults quote them.
 * Each member has the right type; what depends on the type of the column or on other columns is not checked
 * yet.
 */
export interface ColumnDef {
  readonly udt_name: UdtName
  readonly is_nullable: boolean
  readonly column_default?: string | null | undefined
  readonly length?: number | null | undefined
  readonly srid?: number | null | undefined
  readonly need_crypto: boolean
  readonly file_name_column?: string | undefined
  readonly file_type_column?: string | undefined
  readonly file_prefixid_column?: string | undefined
  readonly file_pathid_column?: string | undefined
  readonly file_relativepath_property?: string | undefined
}

/** One fault of a table definition. */
export interface DefinitionFault {
  /** members and indexes from the root of the definition */
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** Row of the catalogue of loader tables. */
export interface CatalogRow {
  readonly table_id: number
  readonly data_name: string
  readonly table_name: string
  readonly schema: string
  /** JSON: the columns as they were defined */
  readonly columns: string
  /** JSON: names */
  readonly unique_columns: string
}

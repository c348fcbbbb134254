import { z } from 'zod'
import { isFault } from '../../geo/fault.js'
import { parseGeometry } from '../../geo/parse-geometry.js'
import type { Geometry } from '../../geo/types.js'

const MAX_NAME = 200
const MAX_COLUMNS = 2000

const Datetime = z
  .union([
    z.string().min(1).max(64),
    z.strictObject({ _type: z.literal('datetime'), val: z.string().min(1).max(64) }),
  ])
  .describe(
    'YYYY-MM-DD hh:mm:ss with an offset such as +09; service.timeZone applies when there is none. infinity and -infinity are open ends',
  )

/** Any GeoJSON geometry, or null for everywhere. */
const SearchArea = z
  .unknown()
  .meta({
    type: ['object', 'null'],
    description: 'GeoJSON geometry of any type, WGS 84; null for everywhere',
  })
  .transform((json, context): Geometry | null => {
    if (json === null) return null
    const geometry = parseGeometry(json, '')
    if (!isFault(geometry)) return geometry
    context.addIssue({
      code: 'custom',
      path: pathOf(geometry.path),
      message: `found ${geometry.found}, expected ${geometry.expected}`,
    })
    return z.NEVER
  })

/** A Feature that describes a query; its id and bbox are accepted and ignored. */
const queryFeature = <P extends z.ZodType>(properties: P) =>
  z.strictObject({
    type: z.literal('Feature'),
    id: z.union([z.string().max(MAX_NAME), z.number()]).optional(),
    bbox: z.array(z.number()).max(6).optional(),
    geometry: SearchArea,
    properties,
  })

export const EventdataParams = queryFeature(
  z.strictObject({
    table: z.string().min(1).max(MAX_NAME).describe('event.<data_name>_tbl_0, or the data_name'),
    columns: z
      .array(z.string().min(1).max(MAX_NAME))
      .max(MAX_COLUMNS)
      .default([])
      .describe('columns to return; [] for all'),
    conds: z.unknown().optional().meta({ type: 'object', description: 'condition; {} or absent for none' }),
    start_datetime: Datetime.nullish().describe('rows that end later; absent or null: no bound'),
    end_datetime: Datetime.nullish().describe('rows that start earlier; absent or null: no bound'),
    limit: z.int().min(0).optional().describe('most rows; absent: all'),
    offset: z.int().min(0).optional().describe('rows to skip; absent: 0'),
    order: z
      .union([z.string().min(1).max(MAX_NAME), z.array(z.string().min(1).max(MAX_NAME)).max(MAX_COLUMNS)])
      .optional()
      .describe('a column, -column for descending, or an array of those; ties end with the order of arrival'),
  }),
)

export const RiskmapParams = queryFeature(
  z.strictObject({
    start_datetime: Datetime.describe('start of the period, which is half-open'),
    end_datetime: Datetime.nullish().describe(
      'end of the period; absent or null: one second after the start',
    ),
    themes: z
      .array(z.string().min(1).max(MAX_NAME))
      .max(1000)
      .describe('risk map themes; an unknown theme has no cells'),
    target_theme_mesh_degree: z
      .int()
      .min(1)
      .max(5)
      .optional()
      .describe('degree of the standard grid of the cells; absent: the cells as they are stored'),
  }),
)

const AnyGeometry = z.looseObject({ type: z.string() })

export const EventdataResult = z.strictObject({
  type: z.literal('FeatureCollection'),
  features: z.array(
    z.strictObject({
      type: z.literal('Feature'),
      geometry: AnyGeometry.nullable(),
      properties: z
        .looseObject({ table: z.unknown() })
        .describe('table, and the columns that were requested'),
    }),
  ),
})

export const RiskmapResult = z.strictObject({
  type: z.literal('FeatureCollection'),
  name: z.literal('requestExtraRiskmapResponse'),
  features: z.array(
    z.strictObject({
      type: z.literal('Feature'),
      geometry: AnyGeometry,
      properties: z.strictObject({
        theme: z.string(),
        datetime: z
          .string()
          .describe('start of the time slot, ISO 8601; of the requested period when the slot has no start'),
        risk: z.int().min(0).max(10),
      }),
    }),
  ),
})

/** Converts `.coordinates[0][1]` to a path of zod. */
function pathOf(text: string): (string | number)[] {
  return [...text.matchAll(/\.(\w+)|\[(\d+)\]/g)].map(([, name, index]) => name ?? Number(index))
}

import { z } from 'zod'

const MAX_NAME = 100
const LEVELS = 11

/** A third number, the height, is accepted and ignored. */
const Lonlat = z
  .array(z.number())
  .min(2)
  .max(3)
  .refine(([lng = 0, lat = 0]) => Math.abs(lng) <= 180 && Math.abs(lat) <= 90, {
    message: 'expected a longitude from -180 to 180, then a latitude from -90 to 90',
  })
  .describe('[longitude, latitude], degrees, WGS 84')

export const Datetime = z
  .union([
    z.string().min(1).max(64),
    z.strictObject({ _type: z.literal('datetime'), val: z.string().min(1).max(64) }),
  ])
  .describe('YYYY-MM-DD hh:mm:ss with an offset such as +09; without an offset, service.timeZone applies')

const MapName = z
  .string()
  .min(1)
  .max(MAX_NAME)
  .optional()
  .describe('map to use; absent: the first by name whose area contains all points')

const ThemeName = z.string().min(1).max(MAX_NAME)

/** Checked by `readThemes`, since the contract names an error of its own. */
const Sensitivity = z.unknown().meta({
  type: 'array',
  items: { type: 'number', minimum: 0 },
  minItems: LEVELS,
  maxItems: LEVELS,
  description: 'sensitivity x of risk levels 0 to 10: passing takes (1 + x) times as long',
})

export const Themes = z
  .record(ThemeName, Sensitivity)
  .describe('risk map theme → sensitivities; {} ignores risk. Several themes add up')

const sizeOf = (what: string, max: number) => z.number().gt(0).max(max).optional().describe(what)

export const Vehicle = z
  .strictObject({
    height_m: sizeOf('metres', 1000),
    width_m: sizeOf('metres', 1000),
    length_m: sizeOf('metres', 1000),
    weight_t: sizeOf('tonnes, with load', 10_000),
    axle_load_t: sizeOf('tonnes on the heaviest axle', 10_000),
    hazmat: z.boolean().default(false).describe('true: carries hazardous goods'),
    emergency: z
      .boolean()
      .default(false)
      .describe('true: of rescue services; what is open to them alone is open'),
  })
  .optional()
  .describe('roads with a lower limit are closed; what is absent is within every limit')

const AvoidPolygon = z
  .looseObject({ type: z.enum(['Polygon', 'MultiPolygon']), coordinates: z.array(z.unknown()).max(100_000) })
  .describe('GeoJSON Polygon or MultiPolygon that routes must not cross')

export const DijkstraParams = z
  .strictObject({
    themes: Themes,
    start_lonlat: Lonlat,
    goal_lonlat: Lonlat,
    start_datetime: Datetime.describe('time of the risk, and of the conditions of roads and turns'),
    via: z.array(Lonlat).max(10_000).default([]).describe('via points; at most routing.maxVia'),
    map: MapName,
    reorder_waypoints: z
      .boolean()
      .default(false)
      .describe('true: visit the via points in the order of the lowest total cost'),
    with_kml: z.boolean().default(false).describe('true: add the route as KML 2.2'),
    geometry: z
      .enum(['geojson', 'polyline6', 'none'])
      .default('geojson')
      .describe('polyline6: lines as encoded polylines of 1e-6 degree in a property; none: no lines'),
    arcs: z
      .boolean()
      .default(true)
      .describe('false: one feature for each leg, with its sums, instead of one for each link'),
    alternatives: z
      .int()
      .min(1)
      .max(100)
      .default(1)
      .describe('number of routes; further ones differ from each other and are not much longer'),
    avoid_polygons: z
      .array(AvoidPolygon)
      .max(100_000)
      .default([])
      .describe('closed areas; at most routing.maxAvoidPolygons'),
    vehicle: Vehicle,
    depart: z
      .enum(['fixed', 'time_dependent'])
      .default('fixed')
      .describe(
        'time_dependent: the risk and the conditions of each link are those at the time it is reached; waiting is not allowed',
      ),
  })
  .refine((params) => params.depart === 'fixed' || params.alternatives === 1, {
    path: ['alternatives'],
    message: 'expected 1 with a time-dependent departure',
  })

const meters = z.number().min(0)
const hours = z.number().min(0)

/**
 * Also has the links, or the legs, as a GeoJSON FeatureCollection, under the key `service.routeKey`; see `RouteFeature` of
 * route-answer.
 */
const RouteResult = z.looseObject({
  kml: z.string().optional().describe('the route as KML 2.2; with_kml only'),
  length: meters.describe('metres, on the WGS 84 ellipsoid'),
  time: hours.describe('driving time, hours'),
  total_cost: hours.describe('weighted hours: Σ length / speed · (1 + Σ sensitivity), and turn_cost'),
  turn_cost: hours.describe('prices of turns, hours: U-turns at dead ends, and turn costs of the map'),
  max_risk: z.int().min(0).max(10),
  avr_risk: z.number().min(0).max(10).describe('average level, weighted by length'),
  exposure: z
    .number()
    .min(0)
    .describe('risk · hours: Σ level · driving time, of the highest level among the themes'),
  start_node: z.int().describe('OSM id of the junction nearest to the start'),
  end_node: z.int().describe('OSM id of the junction nearest to the goal'),
})

const place = {
  lonlat: z.array(z.number()).describe('on a drivable road'),
  distance: meters.describe('metres from the point of the request'),
}

const PassedOver = z
  .strictObject({
    ...place,
    name: z.string(),
    reason: z
      .enum(['cut_off'])
      .describe('cut_off: no way leads from there to the other points, or to the main network and back'),
  })
  .nullable()
  .describe('a nearer road that is not used')

const End = z
  .strictObject({ ...place, name: z.string(), passed_over: PassedOver })
  .describe('point of the request as it was moved to a road')

export const DijkstraResult = RouteResult.extend({
  start_snap: End,
  goal_snap: End,
  via_snaps: z.array(End).optional().describe('with via: in the order of the request'),
  order_is_optimal: z
    .boolean()
    .optional()
    .describe('with reorder_waypoints: true when no order is cheaper; proven up to 12 via points'),
  via_order: z
    .array(z.int().min(0))
    .optional()
    .describe('with reorder_waypoints: positions in via, in the order of visit'),
  alternatives: z.array(RouteResult).optional().describe('further routes, cheapest first'),
})

const SegmentParams = z.strictObject({
  start_lonlat: Lonlat.optional().describe('absent: end of the segment before'),
  end_lonlat: Lonlat,
  start_datetime: Datetime.optional().describe('absent: end time of the segment before'),
  speed: z.number().min(0.001).max(100_000).optional().describe('km/h; absent: the speed of the request'),
})

export const CalcRiskParams = z.strictObject({
  themes: z.array(ThemeName).max(1000).describe('risk map themes'),
  route: z.array(SegmentParams).min(1).max(10_000).describe('straight segments, one after another'),
  start_datetime: Datetime,
  speed: z.number().min(0.001).max(100_000).optional().describe('km/h, for segments without their own speed'),
})

const exposure = z.number().min(0).describe('Σ level · hours')

const SegmentResult = z.looseObject({ exposure: z.looseObject({ total: exposure }) })

export const CalcRiskResult = z.looseObject({
  exposure: z.looseObject({ total: exposure }).describe('risk · hours: total, and themes by name'),
  max_risk: z.int().min(0).max(10),
  avr_risk: z.number().min(0).max(10).describe('average level, weighted by time'),
  length: meters,
  time: hours,
  end_datetime: z.string().describe('ISO 8601'),
  segments: z.array(SegmentResult),
})

export const ListMapsParams = z.strictObject({})

export const ListMapsResult = z.strictObject({
  maps: z.array(
    z.looseObject({
      name: z.string(),
      profile: z.enum(['car', 'foot', 'bicycle']),
      area: z
        .looseObject({ type: z.enum(['Polygon', 'MultiPolygon']) })
        .describe('requests for points outside are refused'),
      bbox: z.array(z.number()).describe('[west, south, east, north], degrees'),
      nodes: z.int().min(0).describe('junctions'),
      arcs: z.int().min(0).describe('links that may be driven'),
      built_from: z.looseObject({ file: z.string(), sha256: z.string() }),
      attribution: z.string(),
      licence: z.string(),
      base: z
        .looseObject({
          bytes: z.int().min(0),
          minzoom: z.int().min(0),
          maxzoom: z.int().min(0),
          built_from: z.looseObject({ file: z.string(), sha256: z.string() }),
        })
        .nullable()
        .describe('the base map to draw below; null where there is none'),
      base_fault: z.string().nullable().describe('why the base map beside the file cannot be used'),
    }),
  ),
})

export const NearestParams = z.strictObject({
  lonlat: Lonlat,
  map: MapName,
  start_datetime: Datetime.optional().describe('time of the conditions of roads; absent: none holds'),
  vehicle: Vehicle,
})

export const NearestResult = z.strictObject({
  map: z.string(),
  lonlat: z.array(z.number()).describe('nearest point on a drivable road'),
  distance: meters.describe('metres from the point of the request'),
  node: z.int().describe('OSM id of the nearest junction'),
  edges: z
    .array(z.strictObject({ edge_id: z.int().min(0), speed: z.number().min(0), name: z.string() }))
    .describe('links that may be driven from there, in both directions'),
  passed_over: PassedOver,
})

export const FindPlacesParams = z.strictObject({
  text: z
    .string()
    .min(1)
    .max(MAX_NAME)
    .describe('beginning of a name or of one of its words; capitals and accents do not matter'),
  map: MapName.describe('map to search; absent: all that have a base map'),
  limit: z.int().min(1).max(50).default(10).describe('most places'),
})

export const FindPlacesResult = z.strictObject({
  places: z
    .array(
      z.strictObject({
        name: z.string(),
        name_latin: z.string().nullable().describe('the name in Latin script, where `name` has none'),
        kind: z.string().describe('such as city, suburb, hospital, street, water'),
        population: z.int().nullable(),
        lonlat: z.array(z.number()).describe('[longitude, latitude], degrees'),
        bbox: z.array(z.number()).describe('[west, south, east, north], degrees'),
        map: z.string(),
      }),
    )
    .describe(
      'the whole name first, then its beginning, then its words; cities before villages before streets',
    ),
})

export const MatrixParams = z.strictObject({
  sources: z.array(Lonlat).min(1).max(10_000).describe('at most routing.maxMatrixPoints'),
  targets: z.array(Lonlat).min(1).max(10_000).optional().describe('absent: the sources'),
  themes: Themes.default({}),
  start_datetime: Datetime.optional().describe(
    'time of the risk and of the conditions of roads and turns; absent: none of these holds. Required with themes',
  ),
  map: MapName,
  vehicle: Vehicle,
})

export const IsochroneParams = z.strictObject({
  lonlat: Lonlat,
  costs: z.array(z.number().gt(0).max(10_000)).min(1).max(10).describe('weighted hours; one feature each'),
  themes: Themes.default({}),
  start_datetime: Datetime.optional().describe(
    'time of the risk and of the conditions of roads and turns; absent: none of these holds. Required with themes',
  ),
  map: MapName,
  vehicle: Vehicle,
  avoid_polygons: z
    .array(AvoidPolygon)
    .max(100_000)
    .default([])
    .describe('closed areas; at most routing.maxAvoidPolygons'),
})

export const IsochroneResult = z.strictObject({
  type: z.literal('FeatureCollection'),
  features: z
    .array(
      z.strictObject({
        type: z.literal('Feature'),
        geometry: z
          .strictObject({ type: z.literal('MultiPolygon'), coordinates: z.array(z.array(z.unknown())) })
          .describe('contains every junction reached and no other'),
        properties: z.strictObject({
          cost: hours,
          nodes: z.int().min(0).describe('number of junctions reached'),
          map: z.string(),
        }),
      }),
    )
    .describe('in the order of costs'),
})

const matrixOf = (what: string) =>
  z
    .array(z.array(z.number().min(0).nullable()))
    .describe(`${what}; a row for each source, null where there is no route`)

export const MatrixResult = z.strictObject({
  map: z.string(),
  costs: matrixOf('weighted hours'),
  times: matrixOf('driving hours on the cheapest route'),
  lengths: matrixOf('metres on the cheapest route'),
})

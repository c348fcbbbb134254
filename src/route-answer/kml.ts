import type { RouteFeature, RouteTotals } from './features.js'
import type { RequestPoint } from './request-point.js'

/** Input of a KML document. */
interface KmlRoute {
  readonly legs: readonly (readonly RouteFeature[])[]
  readonly totals: RouteTotals
  /** start, via points and goal in the order of visit */
  readonly points: readonly RequestPoint[]
  /** of the map, for instance `© OpenStreetMap contributors` */
  readonly attribution: string
}

/** Level 0 to 10 → line colour in KML's notation aabbggrr, from blue over yellow and red to dark purple. */
const LEVEL_COLOURS = [
  'ffd77d2b',
  'ff9fc46a',
  'ff6fd19e',
  'ff4fdcd0',
  'ff36d5f5',
  'ff2ab3fb',
  'ff258af5',
  'ff2a5ce8',
  'ff2f33d0',
  'ff3d18a8',
  'ff5a0f7a',
]

/**
 * Writes a route as a KML 2.2 document: a folder for each leg with a line for each run of equal risk, then
 * start, via points and goal. Elements are in the order that the schema requires.
 *
 * @see OGC 07-147r2, "OGC KML"
 */
export function routeKml({ legs, totals, points, attribution }: KmlRoute): string {
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<kml xmlns="http://www.opengis.net/kml/2.2">',
    '<Document>',
    '<name>Route</name>',
    `<description>${escapeXml(describe(totals, attribution))}</description>`,
    ...LEVEL_COLOURS.map(lineStyle),
    pointStyle('start', 'ff3c9a2e'),
    pointStyle('via', 'ff2ab3fb'),
    pointStyle('goal', 'ff2f33d0'),
    ...legs.flatMap(legFolder),
    ...points.map((point, i) => pointPlacemark(point, i, points.length)),
    '</Document>',
    '</kml>',
  ]
  return `${lines.join('\n')}\n`
}

/** Escapes text as XML content; characters that XML 1.0 does not allow become U+FFFD. */
export function escapeXml(text: string): string {
  return text
    .toWellFormed()
    .replace(UNWRITABLE, '\ufffd')
    .replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the characters to replace
const UNWRITABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

function describe(totals: RouteTotals, attribution: string): string {
  return [
    `Length ${(totals.length / 1000).toFixed(3)} km`,
    `Time ${hoursText(totals.time)}`,
    `Cost with risk ${hoursText(totals.total_cost)}`,
    `Highest risk ${totals.max_risk}, average ${totals.avr_risk.toFixed(2)}`,
    attribution,
  ].join('\n')
}

/** Formats a time for a driver, in whole minutes. */
function hoursText(hours: number): string {
  const minutes = Math.round(hours * 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Styles name no icons, so that no viewer fetches a picture from a server. */
function lineStyle(colour: string, level: number): string {
  return `<Style id="risk${level}"><LineStyle><color>${colour}</color><width>5</width></LineStyle></Style>`
}

function pointStyle(id: string, colour: string): string {
  return `<Style id="${id}"><IconStyle><color>${colour}</color><scale>1.1</scale></IconStyle></Style>`
}

/** Writes the folder of a leg; a leg between equal points has no line and no folder. */
function legFolder(features: readonly RouteFeature[], leg: number): string[] {
  if (features.length === 0) return []
  return ['<Folder>', `<name>Leg ${leg + 1}</name>`, ...runsOfRisk(features).map(linePlacemark), '</Folder>']
}

/** Consecutive links of equal risk: one line on the map. */
interface Run {
  risk: number
  lengthM: number
  names: Set<string>
  coordinates: [number, number][]
}

function runsOfRisk(features: readonly RouteFeature[]): Run[] {
  const runs: Run[] = []
  for (const { geometry, properties } of features) {
    let run = runs[runs.length - 1]
    if (run?.risk !== properties.risk) {
      run = { risk: properties.risk, lengthM: 0, names: new Set(), coordinates: [geometry.coordinates[0]!] }
      runs.push(run)
    }
    run.lengthM += properties.length
    if (properties.name !== '') run.names.add(properties.name)
    run.coordinates.push(...geometry.coordinates.slice(1)) // a link begins where the one before it ends
  }
  return runs
}

function linePlacemark({ risk, lengthM, names, coordinates }: Run): string {
  const title = names.size === 0 ? 'unnamed roads' : [...names].join(', ')
  return [
    '<Placemark>',
    `<name>${escapeXml(title)}</name>`,
    `<description>Risk ${risk}, ${Math.round(lengthM)} m</description>`,
    `<styleUrl>#risk${risk}</styleUrl>`,
    '<LineString>',
    '<tessellate>1</tessellate>',
    `<coordinates>${coordinates.map(([lng, lat]) => `${decimal(lng)},${decimal(lat)}`).join(' ')}</coordinates>`,
    '</LineString>',
    '</Placemark>',
  ].join('\n')
}

function pointPlacemark({ lng, lat }: RequestPoint, i: number, count: number): string {
  const [style, name] =
    i === 0 ? ['start', 'Start'] : i === count - 1 ? ['goal', 'Goal'] : ['via', `Via ${i}`]
  return [
    '<Placemark>',
    `<name>${name}</name>`,
    `<styleUrl>#${style}</styleUrl>`,
    `<Point><coordinates>${decimal(lng)},${decimal(lat)}</coordinates></Point>`,
    '</Placemark>',
  ].join('\n')
}

/** Formats degrees without an exponent: some KML viewers do not read `1e-7`. */
function decimal(degrees: number): string {
  return String(Number(degrees.toFixed(7))).includes('e')
    ? degrees.toFixed(7)
    : String(Number(degrees.toFixed(7)))
}

import { z } from 'zod'
import { parseOffset } from '../datetime.js'
import { makeModbus } from './modbus.js'
import { columnName, durationS, fixedPlace, placesTable } from './row-shapes.js'
import { count, file } from './sections.js'

/** Data that comes in by itself: subscriptions to MQTT brokers, what is published there, and Modbus devices. */

const path = () =>
  z
    .string()
    .max(1000)
    .regex(
      /^(?:[^.[\]]+|\["[^"]+"\])(?:\.[^.[\]]+|\[\d{1,6}\]|\["[^"]+"\])*$/,
      'expected a path such as object.rain[0] or values["mm/h"]',
    )

/** True for a topic filter: `+` is a whole level, `#` the last one. */
function isFilter(text: string): boolean {
  const levels = text.split('/')
  const isWhole = (level: string, at: number) =>
    level === '+' || (level === '#' && at === levels.length - 1) || !/[+#]/.test(level)
  return !text.includes('\0') && !/^\$share\/[^/]*$/.test(text) && levels.every(isWhole)
}

const makeCsv = () =>
  z.strictObject({
    separator: z.string().length(1).default(',').describe('character between two fields'),
    fields: z.array(columnName()).min(1).max(1000).describe('names of the fields, in their order'),
  })

const makeTime = () =>
  z.strictObject({
    path: path()
      .optional()
      .describe('path of the time in the payload; absent: the preset says, else the time of arrival'),
    unit: z
      .enum(['auto', 's', 'ms', 'us', 'ns'])
      .default('auto')
      .describe('unit of a time that is a number since 1970; auto chooses by its size'),
    zone: z
      .string()
      .refine((text) => parseOffset(text) !== undefined, 'expected an offset such as +09:00')
      .optional()
      .describe('offset from UTC of times without one; absent: service.timeZone'),
    orArrival: z
      .boolean()
      .default(false)
      .describe('true: a message without a time has the time of arrival; false: it is rejected'),
    durationS: durationS(),
    maxAheadS: z
      .number()
      .min(0)
      .nullable()
      .default(86_400)
      .describe("longest time ahead of the gateway's clock, seconds; null for any"),
    maxAgeS: z.number().min(0).nullable().default(null).describe('longest age, seconds; null for any'),
  })

const makePosition = () =>
  z
    .strictObject({
      fixed: fixedPlace().optional().describe('longitude and latitude of every row, degrees'),
      lon: path().optional().describe('path of the longitude in the payload; together with lat'),
      lat: path().optional().describe('path of the latitude'),
      geometry: path().optional().describe('path of a GeoJSON geometry'),
      table: placesTable()
        .optional()
        .describe('table of devices, whose rows have the places; together with key and column'),
      key: columnName().optional().describe('column of that table with the name of the device'),
      column: columnName().optional().describe('column of the row with the name of its device'),
      required: z
        .boolean()
        .default(false)
        .describe('true: a message without a position is rejected; a table of devices always requires one'),
    })
    .refine(({ fixed, lon, lat, geometry, table, key, column }) => {
      const ways = [[fixed], [lon, lat], [geometry], [table, key, column]]
      const given = ways.filter((way) => way.some((one) => one !== undefined))
      return given.length === 1 && given[0]?.every((one) => one !== undefined) === true
    }, 'expected one of: fixed; lon and lat; geometry; table, key and column')

const makeMap = () =>
  z
    .strictObject({
      filter: z
        .string()
        .min(1)
        .max(1000)
        .refine(isFilter, 'expected a topic filter: + is a whole level, # the last one')
        .describe('topic filter of the messages, such as farm/+/rain'),
      qos: z.literal([0, 1, 2]).default(1).describe('quality of service that is asked for'),
      table: z.string().min(1).max(200).describe('data_name of the table that receives the rows'),
      preset: z
        .enum(['chirpstack', 'thingsStack', 'zigbee2mqtt', 'sparkplugB'])
        .optional()
        .describe('known form of the messages, in place of payload'),
      payload: z
        .enum(['json', 'csv', 'number', 'text'])
        .optional()
        .describe(
          'form of the payload, json where no preset is named; number and text are at the path value',
        ),
      csv: makeCsv().optional().describe('fields of a csv payload'),
      columns: z.record(columnName(), path()).default({}).describe('column → path of its value'),
      topicColumns: z
        .record(columnName(), z.int().min(1).max(100))
        .default({})
        .describe('column → level of the topic that is its value, counted from 1'),
      time: makeTime().prefault({}).describe('start and end of a row'),
      position: makePosition().optional().describe('geometry of a row; absent: none'),
      ifExists: z
        .enum(['skip', 'override'])
        .default('skip')
        .describe('action for a row whose key exists, as for a message that comes again'),
      retained: z
        .boolean()
        .default(false)
        .describe('true: messages that the broker has retained are stored, too'),
    })
    .refine(({ preset, payload, csv }) => preset === undefined || (payload ?? csv) === undefined, {
      error: 'expected either preset or payload, not both',
    })
    .refine(({ payload, csv }) => (payload === 'csv') === (csv !== undefined), {
      error: 'expected csv with the payload csv, and only there',
    })

const makePublish = () =>
  z
    .strictObject({
      table: z.string().min(1).max(200).optional().describe('table whose changed rows are published'),
      columns: z
        .array(columnName())
        .max(1000)
        .default([])
        .describe('columns of a row that are published; empty: all'),
      conds: z.unknown().optional().describe('condition of the rows, as in mapserv.eventdata'),
      module: z.string().min(1).max(200).optional().describe('module whose answers are published'),
      method: z.string().min(1).max(200).optional().describe('method of the module; absent: all'),
      topic: z
        .string()
        .min(1)
        .max(1000)
        .regex(/^[^+#\0]+$/, 'expected a topic without + and #')
        .describe('topic; {column}, or {module} and {method}, stand for their values'),
      qos: z.literal([0, 1]).default(1).describe('quality of service; 1 is sent at least once'),
      retain: z.boolean().default(false).describe('true: the broker keeps the last message of each topic'),
    })
    .refine(({ table, module }) => (table === undefined) !== (module === undefined), {
      error: 'expected either table or module',
    })

const makeBroker = () =>
  z
    .strictObject({
      name: z
        .string()
        .regex(/^[a-z0-9][a-z0-9_-]{0,39}$/, 'expected 1 to 40 lower case letters, digits, _ or -')
        .describe('name of the broker in logs, metrics and doctor'),
      url: z
        .string()
        .max(500)
        .regex(
          /^mqtts?:\/\/(?:\[[0-9a-fA-F:]+\]|[^/?#\s:@]+)(?::\d{1,5})?\/?$/,
          'expected mqtt://host:port, or mqtts:// for TLS',
        )
        .describe('address; ports 1883, and 8883 for mqtts, unless it names one'),
      version: z.literal([4, 5]).default(5).describe('version of MQTT: 5, or 4 for MQTT 3.1.1'),
      clientId: z
        .string()
        .min(1)
        .max(65)
        .optional()
        .describe('name of the session at the broker; absent: made of the id of the node'),
      username: z.string().max(1000).optional().describe('user name'),
      passwordFile: file('file whose first line is the password'),
      caFile: file(
        'PEM file of the authorities that sign the certificate of the broker; absent: the public ones',
      ),
      certFile: file('PEM file of the certificate of this client; together with keyFile'),
      keyFile: file('PEM file of its private key, not encrypted'),
      keepAliveS: z
        .int()
        .min(5)
        .max(65_535)
        .default(60)
        .describe('time of silence after which the broker has gone, seconds'),
      maxMessageBytes: z
        .int()
        .min(1024)
        .max(64 * 1024 * 1024)
        .default(256 * 1024)
        .describe('largest payload that is read; larger ones are rejected'),
      maps: z.array(makeMap()).max(1000).default([]).describe('what becomes rows of which table'),
      publish: z.array(makePublish()).max(1000).default([]).describe('what is published'),
    })
    .refine(({ url, caFile, certFile }) => url.startsWith('mqtts:') || (caFile ?? certFile) === undefined, {
      error: 'expected an mqtts:// address with caFile, certFile and keyFile',
    })
    .refine(({ certFile, keyFile }) => (certFile === undefined) === (keyFile === undefined), {
      error: 'expected both certFile and keyFile, or neither',
    })

/** Settings `ingest`. */
export const makeIngest = () =>
  z
    .strictObject({
      rejectRows: count(
        1000,
        'messages and readings that could not be stored, of all brokers and buses, that are kept with their reason',
        100_000,
      ),
      mqtt: z
        .strictObject({
          brokers: z
            .array(makeBroker())
            .max(20)
            .default([])
            .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, {
              error: 'expected a name of its own for each broker',
            })
            .describe('MQTT brokers, with what is read from them and published there; see docs/ingest.md'),
          groupRows: z
            .int()
            .min(1)
            .max(500)
            .default(100)
            .describe('most messages whose rows are committed together'),
          groupWaitMs: z
            .int()
            .min(0)
            .max(10_000)
            .default(20)
            .describe('longest time that a message waits for others, milliseconds'),
          retryCapS: z
            .number()
            .min(0.1)
            .max(86_400)
            .default(60)
            .describe('longest wait before a broker is called again, seconds'),
        })
        .prefault({}),
      modbus: makeModbus(),
    })
    .refine(
      ({ mqtt, modbus }) => !mqtt.brokers.some(({ name }) => modbus.buses.some((bus) => bus.name === name)),
      { path: ['modbus', 'buses'], error: 'expected names of buses that no broker has' },
    )

/** A broker with what is read from it and published there. */
export type BrokerSettings = z.output<ReturnType<typeof makeBroker>>
/** Messages that become rows, by table. */
export type MapSettings = z.output<ReturnType<typeof makeMap>>
/** Tables and answers that are published. */
export type PublishSettings = z.output<ReturnType<typeof makePublish>>

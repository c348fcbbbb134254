import { type Command, InvalidArgumentError } from 'commander'
import { formatDatetimeShort } from '../../datetime.js'
import { isAppError } from '../../errors.js'
import type { RetainedTable, RetentionRule, ThinRule } from '../../storage/retention.js'
import { createRetention, type Retention } from '../../tables/retention.js'
import { parseDuration } from '../duration.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson, usageError } from '../io.js'
import { group } from '../maps/map-facts.js'
import { sizeText } from '../models/model-data.js'
import { type RuleData, withRules } from './rule-data.js'

const DAY_S = 86_400
const UNITS = { '': 1, k: 1e3, M: 1e6, G: 1e9 } as const

interface SetFlags extends GlobalOptions {
  age?: number
  maxRows?: number
  maxBytes?: number
  thinAfter?: number
  thinEvery?: number
  thinBy?: string[]
  keep?: string
  into?: string
  dropUnsent?: boolean
  keepUnsent?: boolean
}

/** Adds the verbs of rules by which rows go. A running gateway follows them within a minute. */
export function addRetentionCommands(program: Command, io: CliIo, deps: CliDeps): void {
  const retention = program.command('retention').description('rows of tables that go by themselves')
  retention
    .command('list')
    .description('tables with a rule, with what has gone')
    .action(async (_options, command: Command) => {
      const { json, ...globals } = command.optsWithGlobals<GlobalOptions>()
      await withRules(globals, deps, async (data) => {
        const all = await retentionOf(data).list()
        if (json === true)
          printJson(
            io,
            all.map((one) => factsOf(one, data)),
          )
        else
          io.stdout.write(
            all.length === 0 ? 'No table has a rule.\n' : all.map((one) => textOf(one, data)).join(''),
          )
      })
    })
  retention
    .command('set')
    .description('changes the rule of a table; what is not named stays')
    .argument('<table>', 'name of a table')
    .option('--age <duration>', 'rows go whose end, or start, is older: 12h, 30d', parseDuration)
    .option('--max-rows <n>', 'rows that stay; the oldest go', readCount)
    .option('--max-bytes <size>', 'bytes that stay, with files: 50M, 2G', readSize)
    .option('--thin-after <duration>', 'age at which rows are thinned', parseDuration)
    .option('--thin-every <duration>', 'interval of thinning: 10m, 1h', parseDuration)
    .option('--thin-by <columns>', 'columns that name a series, separated by commas', readNames, [])
    .option('--keep <which>', 'row of each interval that stays: first or last')
    .option('--into <table>', 'table that gets one row for each interval in place of its rows')
    .option('--drop-unsent', 'rows go also before feeds have sent them')
    .option('--keep-unsent', 'rows stay until feeds have sent them')
    .action(async (name: string, _options, command: Command) =>
      change(io, deps, name, command.optsWithGlobals<SetFlags>()),
    )
  retention
    .command('clear')
    .description('takes the rule of a table away: every row stays')
    .argument('<table>', 'name of a table')
    .action(async (name: string, _options, command: Command) => {
      const globals = command.optsWithGlobals<GlobalOptions>()
      await withRules(globals, deps, async (data) => {
        await changeRule(data, name, { ageDays: null, maxRows: null, maxBytes: null, thin: null })
        if (globals.json === true) printJson(io, { data_name: name })
        else io.stdout.write(`Every row of ${name} stays.\n`)
      })
    })
}

async function change(io: CliIo, deps: CliDeps, name: string, flags: SetFlags): Promise<void> {
  const { age, maxRows, maxBytes, dropUnsent, keepUnsent, json } = flags
  const thin = thinOf(flags)
  const rule: Partial<RetentionRule> = {
    ...(age === undefined ? {} : { ageDays: age / DAY_S }),
    ...(maxRows === undefined ? {} : { maxRows }),
    ...(maxBytes === undefined ? {} : { maxBytes }),
    ...(thin === undefined ? {} : { thin }),
    ...(dropUnsent === true ? { dropsUnsent: true } : {}),
    ...(keepUnsent === true ? { dropsUnsent: false } : {}),
  }
  if (Object.keys(rule).length === 0)
    throw usageError('found no option, expected one such as --age 30d or --max-bytes 50M')
  await withRules(flags, deps, async (data) => {
    const retained = await changeRule(data, name, rule)
    if (retained === undefined) return io.stdout.write(`Every row of ${name} stays.\n`)
    if (json === true) return printJson(io, factsOf(retained, data))
    return io.stdout.write(textOf(retained, data))
  })
}

function thinOf({ thinAfter, thinEvery, thinBy = [], keep, into }: SetFlags): ThinRule | undefined {
  const isNamed = [thinAfter, thinEvery, keep, into].some((one) => one !== undefined)
  if (!isNamed && thinBy.length === 0) return undefined
  if (thinAfter === undefined || thinEvery === undefined || (keep === undefined) === (into === undefined))
    throw usageError('expected --thin-after, --thin-every, and either --keep or --into')
  if (keep !== undefined && keep !== 'first' && keep !== 'last')
    throw usageError(`--keep: found ${keep}, expected first or last`)
  const rule = { afterDays: thinAfter / DAY_S, intervalS: thinEvery, by: thinBy }
  return keep === undefined ? { ...rule, to: { into: into ?? '' } } : { ...rule, to: { keep } }
}

/** Changes a rule. A fault of the rule is one line, as of every verb. */
async function changeRule(
  data: RuleData,
  name: string,
  rule: Partial<RetentionRule>,
): Promise<RetainedTable | undefined> {
  try {
    return (await retentionOf(data).change(name, rule)).retained
  } catch (error) {
    if (!isAppError(error) || error.errorName !== 'INVALID_PARAMS') throw error
    const { faults = [] } = error.data as { faults?: { message: string }[] }
    throw usageError(faults.map(({ message }) => message).join('; '))
  }
}

function retentionOf({ store, rules, nowUs }: RuleData): Retention {
  const loader = {
    list: () => store.list(),
    register: async (definition: Parameters<typeof store.register>[0]) => store.register(definition, nowUs()),
    async find(name: string) {
      const table = await store.find(name)
      if (table === undefined) throw new Error(`no table has the name ${name}`)
      return table
    },
  }
  return createRetention({ loader, store: rules, setRule: rules.set })
}

function factsOf({ table, rule, ...facts }: RetainedTable, { timeZoneMin }: RuleData): object {
  const time = (us: number | null) => (us === null ? null : formatDatetimeShort(us, timeZoneMin))
  return {
    ...{
      data_name: table.dataName,
      age_days: rule.ageDays,
      max_rows: rule.maxRows,
      max_bytes: rule.maxBytes,
    },
    ...{ thin: rule.thin, drop_unsent: rule.dropsUnsent, rows: facts.rows },
    ...{ bytes: Math.round(facts.rows * facts.rowBytes), oldest: time(facts.oldestUs) },
    ...{ removed_rows: facts.removed, thinned_rows: facts.thinned, unsent_rows: facts.unsent },
    last_removed: time(facts.lastRunUs),
  }
}

function textOf({ table, rule, ...facts }: RetainedTable, { timeZoneMin }: RuleData): string {
  const { ageDays, maxRows, maxBytes, thin, dropsUnsent } = rule
  const limits = [
    ...(ageDays === null ? [] : [`older than ${ageDays} days`]),
    ...(maxRows === null ? [] : [`beyond ${group(maxRows)} rows`]),
    ...(maxBytes === null ? [] : [`beyond ${sizeText(maxBytes)}`]),
    ...(thin === null ? [] : [thinText(thin)]),
  ]
  const unsent = dropsUnsent ? ', also before feeds have sent them' : ''
  const since = facts.oldestUs === null ? '' : ` since ${formatDatetimeShort(facts.oldestUs, timeZoneMin)}`
  const size = sizeText(Math.round(facts.rows * facts.rowBytes))
  return `${table.dataName}: ${group(facts.rows)} rows${since}, ${size}; rows go ${limits.join(', ')}${unsent}; gone: ${group(facts.removed)}\n`
}

function thinText({ afterDays, intervalS, by, to }: ThinRule): string {
  const series = by.length === 0 ? '' : ` of each ${by.join(', ')}`
  const what = 'keep' in to ? `but the ${to.keep}${series} in` : `into ${to.into}${series}, one for each`
  return `after ${afterDays} days ${what} ${intervalS} s`
}

function readCount(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a whole number from 1 on.')
}

function readSize(text: string): number {
  const match = /^([1-9]\d{0,11})([kMG]?)B?$/.exec(text)
  if (match === null) throw new InvalidArgumentError('Expected a size such as 500k, 50M or 2G.')
  return Number(match[1]) * UNITS[match[2] as keyof typeof UNITS]
}

function readNames(text: string): string[] {
  return text.split(',').filter((name) => name !== '')
}

import type { Command } from 'commander'
import type { CliDeps, GlobalOptions } from '../io.js'
import { findSettings } from '../settings.js'

/** Verbs that work with the settings of a hub, and those that use no data directory. */
const ON_HUB =
  /^(?:serve|hub .*|key .*|session .*|retention .*|fleet (?!status$).*|config .*|map .*|model sign|update|version|bench|.*help)$/

/**
 * Refuses a verb of a gateway's data directory with the settings of a hub, and one of a hub with those of a gateway.
 *
 * @throws Error in one line that names the verb
 */
export function refuseOnHub(command: Command, deps: CliDeps): void {
  const verb = nameOf(command)
  const isOfHub = verb.startsWith('hub ')
  if (ON_HUB.test(verb) && !isOfHub) return
  const settings = findSettings(command.optsWithGlobals<GlobalOptions>(), deps)
  if ('faults' in settings) return // the verb reports them
  const { role } = settings.config
  if (isOfHub && role !== 'hub')
    throw new Error(
      `\`fieldgate ${verb}\` needs the role hub, found the role gateway: set role and hub in the settings`,
    )
  if (isOfHub || role !== 'hub') return
  const instead =
    verb === 'init' || verb === 'doctor' ? `: run \`fieldgate hub ${verb}\`` : ', it is for gateways'
  throw new Error(`\`fieldgate ${verb}\` does not work with the role hub${instead}`)
}

/** Words of a verb, without the program. */
function nameOf(command: Command): string {
  const words: string[] = []
  for (let at: Command | null = command; at?.parent != null; at = at.parent) words.unshift(at.name())
  return words.join(' ')
}

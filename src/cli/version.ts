import type { Command } from 'commander'
import { type CliDeps, type CliIo, type GlobalOptions, printJson } from './io.js'

/** Adds `version`: version of the program, of Node and of the platform, as a fault report needs them. */
export function addVersionCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('version')
    .description('prints the versions of the program and of Node')
    .action((_options, command: Command) => {
      const facts = { version: deps.version, node: process.versions.node, platform: platform() }
      if (command.optsWithGlobals<GlobalOptions>().json === true) printJson(io, facts)
      else io.stdout.write(`fieldgate ${facts.version} (Node ${facts.node}, ${facts.platform})\n`)
    })
}

function platform(): string {
  return `${process.platform}-${process.arch}`
}

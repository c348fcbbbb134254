/** The number given as `--name=N`, or `otherwise`. */
export function option(name, otherwise) {
  const given = process.argv.map((argument) => argument.match(`^--${name}=(\\d+)$`)?.[1]).find(Boolean)
  return given === undefined ? otherwise : Number(given)
}

/** The word given as `--name=WORD`, or `otherwise`. */
export function word(name, otherwise) {
  const given = process.argv.map((argument) => argument.match(`^--${name}=(\\S+)$`)?.[1]).find(Boolean)
  return given ?? otherwise
}

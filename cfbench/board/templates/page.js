"use strict";
// The page is complete without this: it folds rows, sorts, filters and copies.
(() => {
  const tools = document.getElementById("tools");
  const after = document.getElementById("after");
  const said = document.getElementById("said");
  const everything = document.getElementById("all-columns");
  const selects = [...tools.querySelectorAll("select")];
  const state = new URLSearchParams(location.hash.slice(1));
  const EQUAL = 1e-9; // as in cfbench/analysis/ranks.py
  tools.hidden = selects.length === 0;
  after.hidden = false;

  // ---------------------------------------------------------------- numbers, written as Python writes them
  // Python rounds a number that lies exactly between two others to the even one, toFixed rounds it up.
  function fixed(number, digits) {
    const size = Math.abs(number);
    const exact = size.toFixed(100); // all digits of the binary number: 3.85 is a little more than a half
    const half = /^50*$/.test(exact.slice(exact.indexOf(".") + 1 + digits));
    const even = (2 * Math.round((size * 10 ** digits) / 2)) / 10 ** digits;
    const text = (half ? even : size).toFixed(digits);
    return (number < 0 ? "-" : "") + text;
  }
  function thousands(text) {
    const [whole, ...rest] = text.split(".");
    return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...rest].join(".");
  }
  function change(ratio) {
    if (ratio === null) return "-";
    const text = fixed(100 * ratio, 0);
    return text === "0" || text === "-0" ? "+0%" : `${ratio < 0 ? "-" : "+"}${thousands(text.replace("-", ""))}%`;
  }
  function share(value) {
    const text = `${fixed(100 * value, 1)}%`;
    if (text === "100.0%" && value < 1) return "99.9%";
    return text === "0.0%" && value > 0 ? "0.1%" : text;
  }
  function count(k, n) {
    return n ? `${thousands(String(k))} of ${thousands(String(n))}` : "-";
  }
  function mean(numbers) {
    return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  }
  function median(numbers) {
    const sorted = numbers.slice().sort((a, b) => a - b);
    const middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
  // Means that are equal but for rounding become the same number; null stays.
  function equalMeans(means) {
    const order = means.map((_, i) => i).filter((i) => means[i] !== null);
    order.sort((a, b) => means[a] - means[b]);
    const equal = means.slice();
    for (let i = 1; i < order.length; i += 1) {
      if (means[order[i]] - equal[order[i - 1]] <= EQUAL) equal[order[i]] = equal[order[i - 1]];
    }
    return equal;
  }

  // ---------------------------------------------------------------- a ranked table
  class Board {
    constructor(table) {
      this.table = table;
      this.bodies = [...table.tBodies];
      this.heads = [...table.tHead.rows[0].cells];
      this.order = table.querySelector(".order");
      this.data = JSON.parse(document.querySelector(`.tasks-data[data-table="${table.id}"]`).textContent);
      this.original = this.bodies.map((body) => [...body.rows[0].cells].map((cell) => cell.innerHTML));
      this.values = this.bodies.map((body) => [...body.rows[0].cells].map((cell) => cell.dataset.value));
      this.units = this.heads.map((head) => (head.querySelector(".unit") ? head.querySelector(".unit").textContent : ""));
      this.compared = this.comparedOn(this.data.tasks.map((_, i) => i));
      this.places = this.bodies.map((_, row) => row);
      this.current = this.places.slice();
      this.bodies.forEach((body) => this.fold(body));
      this.heads.filter((head) => head.dataset.column).forEach((head) => this.sortable(head));
    }

    // A row opens where it is clicked; its name is a button for those who use keys.
    fold(body) {
      const [entry, more] = body.rows;
      const label = entry.cells[1].querySelector(".label");
      const button = document.createElement("button");
      button.type = "button";
      button.append(...label.childNodes);
      label.append(button);
      const show = (open) => {
        more.hidden = !open;
        button.setAttribute("aria-expanded", String(open));
      };
      entry.classList.add("opens");
      entry.addEventListener("click", (event) => {
        if (event.target.closest("a") || String(getSelection())) return;
        show(more.hidden);
      });
      show(false);
    }

    sortable(head) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      const higher = button.textContent.includes("higher is better");
      button.addEventListener("click", () => {
        const again = state.get("sort") === head.dataset.column;
        const down = again ? state.get("order") !== "down" : higher;
        state.set("sort", head.dataset.column);
        state.set("order", down ? "down" : "up");
        remember();
        boards.forEach((board) => board.arrange());
      });
    }

    valueOf(row, column) {
      const text = this.bodies[row].rows[0].cells[column].dataset.value;
      return text === undefined || text === "" ? null : Number(text);
    }

    isShown(column) {
      return !this.heads[column].hidden && getComputedStyle(this.heads[column]).display !== "none";
    }

    // Sorts by the chosen column; by mean rank where none is chosen, or where the chosen one is hidden.
    arrange() {
      const chosen = this.heads.findIndex((head) => head.dataset.column && head.dataset.column === state.get("sort"));
      const column = chosen >= 0 && this.isShown(chosen) ? chosen : -1;
      const descending = state.get("order") === "down";
      const order = this.current.slice();
      if (column >= 0) {
        order.sort((a, b) => {
          const [x, y] = [this.valueOf(a, column), this.valueOf(b, column)];
          if (x === null || y === null) return (x === null) - (y === null);
          return descending ? y - x : x - y;
        });
      }
      for (const row of order) this.table.append(this.bodies[row]);
      this.heads.forEach((head, i) => {
        if (i === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      const by = column >= 0 ? this.heads[column].querySelector(".title").textContent : "";
      this.order.textContent = by ? `Sorted by ${by}, ${descending ? "largest" : "smallest"} first; # is still the position by mean rank.` : this.order.dataset.rank;
    }

    put(row, column, text, value, detail = "") {
      const cell = this.bodies[row].rows[0].cells[column];
      const span = document.createElement("span");
      span.className = "text";
      span.textContent = detail ? `${text} ` : text;
      if (detail) {
        const small = document.createElement("small");
        small.textContent = detail;
        span.append(small);
      }
      cell.replaceChildren(span);
      if (value === null) delete cell.dataset.value;
      else cell.dataset.value = value;
    }

    restore() {
      this.bodies.forEach((body, row) => {
        [...body.rows[0].cells].forEach((cell, column) => {
          if (column === 1) return;
          cell.innerHTML = this.original[row][column];
          if (this.values[row][column] === undefined) delete cell.dataset.value;
          else cell.dataset.value = this.values[row][column];
          cell.hidden = false;
        });
        body.rows[1].cells[0].querySelectorAll(".narrow").forEach((one) => (one.hidden = false));
      });
      this.heads.forEach((head, column) => {
        head.hidden = false;
        const unit = head.querySelector(".unit");
        if (unit) unit.textContent = this.units[column];
      });
      this.current = this.places.slice();
    }

    // Which ranked searchers found enough on some tasks: losses are of the points that all of these solved.
    comparedOn(tasks) {
      const points = tasks.reduce((sum, i) => sum + this.data.tasks[i].points, 0);
      return this.data.rows.map((row) => row.ranked && tasks.reduce((sum, i) => sum + (row.results[i] ? row.results[i][5] : 0), 0) >= this.data.least * points);
    }

    // Computes a table of some tasks from what the table of all tasks has of each of them.
    numbersOf(tasks) {
      const { data } = this;
      const counting = tasks.filter((i) => data.tasks[i].points);
      const ranked = data.rows.map((row) => row.ranked && counting.length > 0 && counting.every((i) => row.results[i] && row.results[i][0] !== null));
      const separating = counting.filter((i) => data.rows.some((row, r) => ranked[r] && row.results[i][1]));
      const anything = separating.length > 0;
      const ranks = equalMeans(data.rows.map((row, r) => (ranked[r] && anything ? mean(counting.map((i) => row.results[i][0])) : null)));
      const compares = this.comparedOn(counting).every((one, r) => one === this.compared[r]);
      const middle = (row, place) => {
        if (!compares) return null;
        const values = counting.map((i) => row.results[i] && row.results[i][place]).filter((one) => typeof one === "number");
        return values.length ? median(values) : null;
      };
      const rows = data.rows.map((row, r) => {
        const results = (row.ranked ? counting : tasks).map((i) => row.results[i]).filter(Boolean);
        return {
          found: results.reduce((sum, one) => sum + one[1], 0),
          asked: results.reduce((sum, one) => sum + one[2], 0),
          rank: ranks[r],
          position: ranks[r] === null ? null : 1 + ranks.filter((one) => one !== null && one < ranks[r]).length,
          shared: ranks[r] !== null && ranks.filter((one) => one === ranks[r]).length > 1,
          loss: middle(row, 3),
          objective: middle(row, 4),
          wins: ranks[r] === null ? null : 0,
        };
      });
      for (const i of separating) {
        const own = data.rows.map((row, r) => (rows[r].rank === null ? Infinity : row.results[i][0]));
        const least = Math.min(...own);
        own.forEach((rank, r) => {
          if (rank < Infinity && rank <= least + EQUAL) rows[r].wins += 1;
        });
      }
      return { rows, counting: counting.length };
    }

    recompute(tasks) {
      const { rows, counting } = this.numbersOf(tasks);
      this.current = this.places.slice().sort((a, b) => {
        const [x, y] = [rows[a].rank, rows[b].rank];
        return x === null || y === null ? (x === null) - (y === null) : x - y;
      });
      this.heads.forEach((head, column) => {
        const hide = Boolean(head.dataset.column) && head.dataset.recomputed === undefined;
        head.hidden = hide;
        const unit = head.querySelector(".unit");
        if (unit && head.dataset.column === "wins") unit.textContent = `of ${counting}`;
        if (unit && head.dataset.column === "found") unit.textContent = "searches";
        this.bodies.forEach((body) => (body.rows[0].cells[column].hidden = hide));
      });
      this.bodies.forEach((body) => body.rows[1].cells[0].querySelectorAll(".narrow").forEach((one) => (one.hidden = true)));
      rows.forEach((row, r) => {
        const blank = this.data.rows[r].blank;
        this.put(r, 0, row.position === null ? "-" : `${row.position}${row.shared ? "=" : ""}`, null);
        this.heads.forEach((head, column) => {
          const name = head.dataset.column;
          if (name === "found") this.put(r, column, count(row.found, row.asked), row.asked ? row.found / row.asked : null, row.asked ? `(${share(row.found / row.asked)})` : "");
          if (name === "rank") this.put(r, column, row.rank === null ? "-" : fixed(row.rank, 1), row.rank);
          if (name === "loss" || name === "objective") this.put(r, column, blank ? "-" : change(row[name]), blank ? null : row[name]);
          if (name === "wins") this.put(r, column, row.wins === null ? "-" : String(row.wins), row.wins);
        });
      });
    }
  }

  const boards = [...document.querySelectorAll("table.board")].map((table) => new Board(table));
  const [main] = boards;

  // ---------------------------------------------------------------- filtering; nothing stale stays on the page
  const matches = (task) => selects.every((one) => !one.value || task[one.name] === one.value);

  function filter() {
    const chosen = selects.filter((one) => one.value);
    boards.forEach((board) => {
      board.restore();
      if (chosen.length) board.recompute(board.data.tasks.map((task, i) => (matches(task) ? i : -1)).filter((i) => i >= 0));
      board.arrange();
    });
    document.getElementById("filtered").hidden = !chosen.length;
    document.querySelectorAll(".letters").forEach((one) => (one.hidden = chosen.length > 0));
    const kept = main.data.tasks.filter(matches).length;
    const named = chosen.map((one) => `${one.dataset.words} ${one.value}`).join(", ");
    document.getElementById("chosen").textContent = `${kept} of ${main.data.tasks.length} tasks: ${named}.`;
    document.querySelectorAll("[data-task]").forEach((one) => (one.hidden = !matches(main.data.tasks[Number(one.dataset.task)])));
    document.querySelectorAll(".heat tbody").forEach((body) => (body.hidden = [...body.querySelectorAll("[data-task]")].every((row) => row.hidden)));
  }

  function remember() {
    for (const one of selects) {
      if (one.value) state.set(one.name, one.value);
      else state.delete(one.name);
    }
    history.replaceState(null, "", state.size ? `#${state}` : location.pathname + location.search);
  }

  for (const one of selects) {
    const wanted = state.get(one.name);
    if ([...one.options].some((option) => option.value === wanted)) one.value = wanted;
    one.addEventListener("change", () => {
      remember();
      filter();
    });
  }

  if (everything) {
    const show = () => document.body.classList.toggle("all-columns", everything.checked);
    everything.checked = state.get("columns") === "all";
    everything.addEventListener("change", () => {
      if (everything.checked) state.set("columns", "all");
      else state.delete("columns");
      remember();
      show();
      boards.forEach((board) => board.arrange());
    });
    show();
  }

  // ---------------------------------------------------------------- copying what is shown
  function shownCells() {
    const columns = main.heads.map((_, i) => i).filter((i) => main.isShown(i));
    const titles = columns.map((i) => {
      if (i === 0) return "position";
      const head = main.heads[i];
      const title = head.querySelector(".title") ? head.querySelector(".title").textContent : head.textContent;
      const unit = head.querySelector(".unit");
      return unit && unit.textContent ? `${title} (${unit.textContent.replace(/^\(|\)$/g, "")})` : title;
    });
    const rows = [...main.table.tBodies].map((body) =>
      columns.map((i) => {
        const cell = body.rows[0].cells[i];
        return (cell.querySelector(".text, button") || cell).textContent.trim();
      }),
    );
    return [titles, rows];
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = document.createElement("textarea");
      field.value = text;
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    said.textContent = "copied";
  }

  document.getElementById("copy-markdown").addEventListener("click", () => {
    const [titles, rows] = shownCells();
    const line = (cells) => `| ${cells.map((cell) => cell.replace(/[\\|`*<]/g, "\\$&")).join(" | ")} |`;
    const ruler = titles.map((_, i) => (i === 1 ? ":--" : "--:"));
    copy([line(titles), `| ${ruler.join(" | ")} |`, ...rows.map(line)].join("\n") + "\n");
  });
  document.getElementById("copy-latex").addEventListener("click", () => {
    const [titles, rows] = shownCells();
    const sign = (one) => ({ "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" })[one] || `\\${one}`;
    const line = (cells) => `${cells.map((cell) => cell.replace(/[\\&%$#_{}~^]/g, sign)).join(" & ")} \\\\`;
    const kinds = titles.map((_, i) => (i === 1 ? "l" : "r")).join("");
    copy([`\\begin{tabular}{${kinds}}`, "\\hline", line(titles), "\\hline", ...rows.map(line), "\\hline", "\\end{tabular}"].join("\n") + "\n");
  });

  filter();
})();

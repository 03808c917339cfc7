# For Nix: `nix build` makes the programs, their manual pages and completions. Nobody has run it; it
# needs a nixpkgs with Rust 1.93.
{
  description = "Finds the files that share content with a file";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
      ];
      each = nixpkgs.lib.genAttrs systems;
    in
    {
      packages = each (system: {
        default = nixpkgs.legacyPackages.${system}.rustPlatform.buildRustPackage {
          pname = "resemble";
          version = "0.1.0";
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          buildType = "dist";
          cargoBuildFlags = [
            "--package=resemble-cli"
            "--package=resemble-daemon"
            "--package=resemble-lab"
            "--features=resemble-cli/ui"
            "--bins"
          ];
          # The tests need /dev/fuse and programs of other packages.
          doCheck = false;
          postInstall = ''
            patchShebangs packaging/share
            packaging/share "$out/bin" "$out" zsh/site-functions
          '';
          meta = {
            description = "Finds the files that share content with a file";
            license = with nixpkgs.lib.licenses; [
              mit
              asl20
            ];
            mainProgram = "resemble";
            platforms = systems;
          };
        };
      });
    };
}

#include "sim/input/read_scenario.hpp"
#include <iostream>
int main(int c,char**v){ try { std::vector<std::string> o(v+2,v+c); auto s=tsim::sim::read_scenario_file(v[1],o); std::cout<<"ok "<<s.base.name<<" variants "<<s.variants.size()<<"\n"; for(auto&w:s.base.warnings) std::cout<<"warning: "<<w<<"\n"; } catch(const tsim::sim::InputErrors&e){ std::cerr<<e.what()<<"\n"; return 2;} }
